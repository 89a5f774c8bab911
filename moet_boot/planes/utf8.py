"""Text that can be stored: what a command line holds need not be any."""


def is_utf8(text: str) -> bool:
    """Whether a string came from UTF-8; other bytes of a command line are lone surrogates in it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
