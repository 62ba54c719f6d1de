"""The one error of the tools; its text is written for the model that reads it."""


class ToolFailed(Exception):
    """The tool cannot do what was asked; trying again would change nothing."""
