"""What a content and its parts are in requests to Gemini, as strict models.

It owes nothing to the engine's adapter. Google takes snake_case as well; here a key has one name.
Source: Gemini API reference, "Caching" (Content, Part, Schema), v1beta.
"""

from __future__ import annotations

from base64 import b64decode
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

DATA: Final = (
    "text",
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
)
"""A part has one of these."""

JsonObject = dict[str, Any]


def _base64(text: str) -> str:
    b64decode(text, validate=True)
    return text


Base64 = Annotated[str, AfterValidator(_base64)]
Unsigned = Literal["skip_thought_signature_validator"]
"""Signs a call that the model did not make itself. Source: "Thought signatures", FAQ."""

FunctionName = Annotated[str, Field(pattern=r"^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$")]
Resolution = Literal["MEDIA_RESOLUTION_LOW", "MEDIA_RESOLUTION_MEDIUM", "MEDIA_RESOLUTION_HIGH"]
Upper = Literal["STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"]
Lower = Literal["string", "number", "integer", "boolean", "array", "object", "null"]


CAMEL: Final = ConfigDict(extra="forbid", alias_generator=to_camel)


class Wire(BaseModel):
    """An object whose keys are known, in camelCase."""

    model_config = CAMEL

    def alone(self, *names: str, needed: bool = False) -> None:
        """Raise `ValueError` if more than one of these fields is set, or none that is needed."""
        there = [name for name in names if name in self.model_fields_set]
        if len(there) > 1 or (needed and not there):
            raise ValueError(f"one of {', '.join(map(to_camel, names))}, not {len(there)}")


class Schema(Wire):
    """The subset of OpenAPI's schemas that describes parameters."""

    type: Upper | Lower | None = None
    format: str | None = None
    title: str | None = None
    description: str | None = None
    nullable: bool | None = None
    enum: list[str] | None = None
    items: Schema | None = None
    properties: dict[str, Schema] | None = None
    required: list[str] | None = None
    property_ordering: list[str] | None = None
    any_of: list[Schema] | None = None
    min_items: int | str | None = None
    max_items: int | str | None = None
    min_properties: int | str | None = None
    max_properties: int | str | None = None
    min_length: int | str | None = None
    max_length: int | str | None = None
    minimum: float | None = None
    maximum: float | None = None
    pattern: str | None = None
    default: Any = None
    example: Any = None


class Blob(Wire):
    """Bytes in the request."""

    mime_type: str
    data: Base64


class FileData(Wire):
    """Bytes elsewhere."""

    file_uri: str
    mime_type: str | None = None


class FunctionCall(Wire):
    """What the model asked for."""

    name: FunctionName
    args: JsonObject | None = None
    id: str | None = None


class FunctionResponsePart(Wire):
    """An image or a document among a result."""

    inline_data: Blob


class FunctionResponse(Wire):
    """What came of it; `response` is an object, whatever the function returned."""

    name: FunctionName
    response: JsonObject
    id: str | None = None
    parts: list[FunctionResponsePart] | None = None
    will_continue: bool | None = None
    scheduling: Literal["SILENT", "WHEN_IDLE", "INTERRUPT"] | None = None


class ExecutableCode(Wire):
    """Code that the model wrote for Google's own interpreter."""

    language: Literal["PYTHON"]
    code: str
    id: str | None = None


class CodeExecutionResult(Wire):
    """What that interpreter said."""

    outcome: Literal["OUTCOME_OK", "OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"]
    output: str | None = None
    id: str | None = None


class VideoMetadata(Wire):
    """Which piece of a video is meant."""

    start_offset: str | None = None
    end_offset: str | None = None
    fps: float | None = None


class PartMediaResolution(Wire):
    """How closely one part is looked at."""

    level: Resolution | Literal["MEDIA_RESOLUTION_ULTRA_HIGH"]


class Part(Wire):
    """One piece of a content; a signature goes back on the part that it came with."""

    text: str | None = None
    inline_data: Blob | None = None
    file_data: FileData | None = None
    function_call: FunctionCall | None = None
    function_response: FunctionResponse | None = None
    executable_code: ExecutableCode | None = None
    code_execution_result: CodeExecutionResult | None = None
    thought: bool | None = None
    thought_signature: Base64 | Unsigned | None = None
    video_metadata: VideoMetadata | None = None
    media_resolution: PartMediaResolution | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        self.alone(*DATA, needed="thought_signature" not in self.model_fields_set)
        return self


class Content(Wire):
    """What one side said; `model` is the other's name."""

    parts: Annotated[list[Part], Field(min_length=1)]
    role: Literal["user", "model"] | None = None


class SystemInstruction(Wire):
    """Text, whose role is not looked at."""

    parts: Annotated[list[Part], Field(min_length=1)]
    role: str | None = None
