"""A small reader of this project's C++: functions and the calls in them.

It knows tokens, brackets and clang-format's habits, no types. That is enough
to ask a whole tree in seconds which functions suspend or draw, and whether an
expression leaves the order of two such calls to the compiler.
"""
import re

_BLANK = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_TOKEN = re.compile(
    r"[A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)*|\d[\w'.]*|::|->|<<=|>>=|&&|\|\||"
    r"[-+*/%&|^!=<>]=|<<|\+\+|--|\.\.\.|[^\s\w]")
OPEN = {"(": ")", "[": "]", "{": "}"}
KEYWORDS = {"if", "while", "for", "switch", "return", "sizeof", "alignof",
            "catch", "decltype", "static_assert", "co_return", "case",
            "constexpr", "noexcept", "defined", "alignas", "operator"}


def strip_comments(text, keep_strings=False):
    """Blanks comments and string literals, keeping line numbers."""
    def blank(match):
        found = match.group(0)
        if keep_strings and not found.startswith(("//", "/*")):
            return found
        if found.startswith(("//", "/*")):
            return re.sub(r"[^\n]", " ", found)
        return '""' + re.sub(r"[^\n]", " ", found[2:])
    return _BLANK.sub(blank, text)


class Token:
    """A word or sign; a bracket holds what is in it as `inner`."""

    __slots__ = ("text", "line", "inner", "end_line")

    def __init__(self, text, line):
        self.text = text
        self.line = line
        self.inner = None
        self.end_line = line

    def __repr__(self):
        return self.text


def read(text):
    """The tokens of a file as a list of trees; unbalanced input ends early."""
    code = _PREPROCESSOR.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)),
                             strip_comments(text))
    root = []
    stack = [(root, None)]
    line = 1
    at = 0
    for match in _TOKEN.finditer(code):
        line += code.count("\n", at, match.start())
        at = match.start()
        word = match.group(0)
        if word in OPEN:
            token = Token(word, line)
            token.inner = []
            stack[-1][0].append(token)
            stack.append((token.inner, token))
        elif word in OPEN.values():
            if len(stack) == 1:
                break
            stack.pop()[1].end_line = line
        else:
            stack[-1][0].append(Token(word, line))
    return root


class Function:
    """A definition: its name without qualification, parameters and body."""

    def __init__(self, path, name, params, body, begin):
        self.path = path
        self.name = name.split("::")[-1]
        self.params = params
        self.body = body
        self.begin = begin
        self.lines = body.end_line - begin + 1


def _head(tokens):
    """(name, parameters) if the tokens before a brace begin a function."""
    for i, token in enumerate(tokens):
        if token.text in ("=", "class", "struct", "enum", "union"):
            return None
        if token.text == "(" and i > 0:
            name = tokens[i - 1].text
            if re.match(r"[A-Za-z_]", name) and name not in KEYWORDS:
                return name, token
    return None


def functions(path, text):
    """Every function definition of a file, members among them."""
    found = []

    def scan(tokens):
        begin = 0
        i = 0
        while i < len(tokens):
            token = tokens[i]
            if token.text in (";", "}"):
                begin = i + 1
            elif (token.text == ":" and i > 0 and
                  tokens[i - 1].text in ("public", "private", "protected")):
                begin = i + 1
            elif token.text == "{":
                head = tokens[begin:i]
                words = [t.text for t in head]
                function = _head(head)
                in_initializer = (
                    function is not None and ":" in words and
                    re.match(r"[A-Za-z_>]", words[-1]) and
                    words[-1] not in ("const", "override", "noexcept"))
                if in_initializer:
                    i += 1
                    continue
                if function is not None:
                    found.append(Function(path, function[0], function[1],
                                          token, head[0].line))
                elif any(w in words for w in
                         ("namespace", "class", "struct", "union")) or not head:
                    scan(token.inner)
                elif words[:2] == ["extern", ""]:
                    scan(token.inner)
                begin = i + 1
            i += 1

    scan(read(text))
    return found


def split(tokens, signs):
    """The runs of tokens between any of the signs."""
    parts = [[]]
    for token in tokens:
        if token.text in signs and token.inner is None:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def calls(tokens):
    """(name, whether reached by . or ->, its parentheses) of each call."""
    for i, token in enumerate(tokens):
        if token.text != "(" or i == 0:
            continue
        name = tokens[i - 1]
        if name.inner is not None or not re.match(r"[A-Za-z_]", name.text):
            continue
        if name.text in KEYWORDS:
            continue
        member = i > 1 and tokens[i - 2].text in (".", "->")
        yield name, member, token


def all_calls(tokens):
    """As calls, at every depth."""
    yield from calls(tokens)
    for token in tokens:
        if token.inner is not None:
            yield from all_calls(token.inner)


def words(tokens):
    """Every word at every depth."""
    for token in tokens:
        if token.inner is None:
            yield token.text
        else:
            yield from words(token.inner)
