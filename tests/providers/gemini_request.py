"""What Gemini's `generateContent` and `streamGenerateContent` take, as strict models.

It owes nothing to the engine's adapter.
Source: Gemini API reference, "Generating content", "Caching" (Tool, ToolConfig), v1beta.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from providers.gemini_content import (
    Content,
    FunctionName,
    JsonObject,
    Resolution,
    Schema,
    SystemInstruction,
    Wire,
)


class FunctionDeclaration(Wire):
    """A tool of ours."""

    name: FunctionName
    description: str | None = None
    parameters: Schema | None = None
    parameters_json_schema: JsonObject | None = None
    response: Schema | None = None
    response_json_schema: JsonObject | None = None
    behavior: Literal["BLOCKING", "NON_BLOCKING"] | None = None

    @model_validator(mode="after")
    def _described_once(self) -> Self:
        self.alone("parameters", "parameters_json_schema")
        self.alone("response", "response_json_schema")
        return self


class Tool(Wire):
    """Functions of ours, or services of Google's."""

    function_declarations: list[FunctionDeclaration] | None = None
    google_search: JsonObject | None = None
    google_search_retrieval: JsonObject | None = None
    code_execution: JsonObject | None = None
    url_context: JsonObject | None = None
    computer_use: JsonObject | None = None
    file_search: JsonObject | None = None
    google_maps: JsonObject | None = None


class FunctionCallingConfig(Wire):
    """Whether functions may, must or must not be called; names narrow a must."""

    mode: Literal["AUTO", "ANY", "NONE", "VALIDATED"]
    allowed_function_names: list[FunctionName] | None = None

    @model_validator(mode="after")
    def _names_for_a_must(self) -> Self:
        if self.allowed_function_names is not None and self.mode not in {"ANY", "VALIDATED"}:
            raise ValueError("allowedFunctionNames goes with ANY or VALIDATED")
        return self


class ToolConfig(Wire):
    """How tools are used."""

    function_calling_config: FunctionCallingConfig | None = None
    retrieval_config: JsonObject | None = None
    include_server_side_tool_invocations: bool | None = None


class ThinkingConfig(Wire):
    """How much is thought: tokens for the 2.5 models, a level for later ones, never both."""

    include_thoughts: bool | None = None
    thinking_budget: int | None = None
    thinking_level: Literal["MINIMAL", "LOW", "MEDIUM", "HIGH"] | None = None

    @model_validator(mode="after")
    def _one_measure(self) -> Self:
        self.alone("thinking_budget", "thinking_level")
        return self


class GenerationConfig(Wire):
    """How an answer is made and what it looks like."""

    stop_sequences: Annotated[list[str], Field(max_length=5)] | None = None
    response_mime_type: Literal["text/plain", "application/json", "text/x.enum"] | None = None
    response_schema: Schema | None = None
    response_json_schema: JsonObject | None = None
    response_modalities: list[Literal["TEXT", "IMAGE", "AUDIO"]] | None = None
    candidate_count: Annotated[int, Field(ge=1, le=8)] | None = None
    max_output_tokens: Annotated[int, Field(ge=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    top_k: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    response_logprobs: bool | None = None
    logprobs: Annotated[int, Field(ge=0, le=20)] | None = None
    enable_enhanced_civic_answers: bool | None = None
    speech_config: JsonObject | None = None
    image_config: JsonObject | None = None
    thinking_config: ThinkingConfig | None = None
    media_resolution: Resolution | None = None

    @model_validator(mode="after")
    def _a_schema_is_for_json(self) -> Self:
        self.alone("response_schema", "response_json_schema")
        described = self.response_schema or self.response_json_schema is not None
        if described and self.response_mime_type in {None, "text/plain"}:
            raise ValueError("a schema goes with the responseMimeType application/json")
        return self


class SafetySetting(Wire):
    """From which probability on something is held back."""

    category: Literal[
        "HARM_CATEGORY_HARASSMENT",
        "HARM_CATEGORY_HATE_SPEECH",
        "HARM_CATEGORY_SEXUALLY_EXPLICIT",
        "HARM_CATEGORY_DANGEROUS_CONTENT",
        "HARM_CATEGORY_CIVIC_INTEGRITY",
    ]
    threshold: Literal[
        "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"
    ]


class GenerateContentRequest(Wire):
    """The body; results come in the turn after their calls, as many as there were calls."""

    contents: Annotated[list[Content], Field(min_length=1)]
    system_instruction: SystemInstruction | None = None
    tools: list[Tool] | None = None
    tool_config: ToolConfig | None = None
    generation_config: GenerationConfig | None = None
    safety_settings: list[SafetySetting] | None = None
    cached_content: Annotated[str, Field(pattern="^cachedContents/.+")] | None = None
    service_tier: Literal["standard", "flex", "priority"] | None = None

    @model_validator(mode="after")
    def _answers_to_calls(self) -> Self:
        asked = 0
        for number, content in enumerate(self.contents):
            calls = sum(part.function_call is not None for part in content.parts)
            results = sum(part.function_response is not None for part in content.parts)
            if results != asked:
                raise ValueError(f"contents.{number} has {results} results for {asked} calls")
            asked = calls
        return self
