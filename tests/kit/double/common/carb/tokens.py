"""Tokens such as ``${omni_documents}`` in texts."""

values: dict[str, str] = {}


class ITokens:
    def resolve(self, string: str) -> str:
        for name, value in values.items():
            string = string.replace(f"${{{name}}}", value)
        return string


_tokens = ITokens()


def get_tokens_interface() -> ITokens:
    return _tokens
