"""A mark of tests whose messages refer to uploads. No test lives here."""

from __future__ import annotations

from typing import Final

import pytest

from transcripts.anthropic import AnthropicRule
from transcripts.bedrock import BedrockRule

UNRESOLVED: Final = pytest.mark.refused(
    AnthropicRule.SOURCE,
    BedrockRule.BLOCK_TYPE,
    BedrockRule.SHAPE,
    reason="nobody puts the upload in the place of its reference yet",
)
