"""Finds expressions that leave the order of two effects to the compiler.

An effect is a call that may suspend or that draws. g++ and clang++ evaluate
the operands of `+` and the arguments of a call in different orders, so two
effects in one expression give two different runs for one seed. Operators that
order their operands (`&&`, `||`, `?:`, `,`, assignments, shifts, braces) are
allowed between them, and so is the call whose argument is the other effect.

Which functions have effects is found by closure over the whole tree: a
function that takes a Backend or a Drawer and calls something with an effect
has one itself. Inside the engine so does every function, as its classes carry
their Backend along.
"""
import cxx

# Methods of env and sim in which every effect ends.
SUSPENDING = {"Yield", "Park", "ParkUntil", "Pread", "Pwrite", "Fsync",
              "Fdatasync", "StartWriteback", "Truncate", "Allocate", "Open",
              "Unlink", "Rename", "Mkdir", "Rmdir", "FsyncDir", "List", "Stat",
              "DevicePoint", "DeviceDelay"}
DRAWING = {"Draw", "DrawKey", "Below", "Between", "Chance", "Weighted",
           "Choose"}
SEQUENCED = {"&&", "||", "?", ":", ",", "=", "+=", "-=", "*=", "/=", "%=",
             "&=", "|=", "^=", "<<", "<<=", ">>=", ";", "return"}
CARRIERS = {"Backend", "Drawer", "Choices", "sim::Drawer", "sim::Choices",
            "engine::Backend"}


class Effects:
    """The names of functions that have an effect."""

    def __init__(self, functions):
        self.names = set()
        self.in_engine = set()
        grown = True
        while grown:
            grown = any([self._learn(f) for f in functions])

    def _learn(self, function):
        names = self.names
        if not self._carrier(function):
            if not function.path.startswith("engine/"):
                return False
            names = self.in_engine
        if function.name in names or not any(
                self.is_effect(function.path, *call) for call in
                cxx.all_calls(function.body.inner)):
            return False
        names.add(function.name)
        return True

    @staticmethod
    def _carrier(function):
        return any(w in CARRIERS for w in cxx.words(function.params.inner))

    def is_effect(self, path, name, member, parens):
        last = name.text.split("::")[-1]
        if member and (last in SUSPENDING or last in DRAWING):
            return True
        if path.startswith("engine/") and last in self.in_engine:
            return True
        return (not member or bool(parens.inner)) and last in self.names


def _is_lambda(tokens, i):
    """Whether the brace at i is the body of a lambda."""
    j = i - 1
    while j >= 0 and (tokens[j].text in ("(", "mutable", "->", "noexcept") or
                      tokens[j].text.isidentifier()):
        if tokens[j].text == "(" and j > 0 and tokens[j - 1].text == "[":
            return True
        j -= 1
    return j >= 0 and tokens[j].text == "["


class Checker:
    """Reports what is wrong in one function."""

    def __init__(self, effects, path, report):
        self.effects = effects
        self.path = path
        self.report = report

    def statements(self, tokens):
        """Checks the statements of a body, lambdas' bodies included."""
        for i, token in enumerate(tokens):
            if token.text == "{":
                self.statements(token.inner)
            elif token.inner is not None:
                self._bodies(token.inner)
        run = []
        for token in tokens:
            controls = token.text == "(" and bool(run) and \
                run[-1].text in ("if", "while", "for", "switch")
            if token.text in ("{", ";") or controls:
                self.expression([token] if controls else run)
                run = []
            else:
                run.append(token)
        self.expression(run)

    def _bodies(self, tokens):
        for i, token in enumerate(tokens):
            if token.text == "{" and _is_lambda(tokens, i):
                self.statements(token.inner)
            elif token.inner is not None:
                self._bodies(token.inner)

    def expression(self, tokens):
        """The effects of an expression; complains about unordered ones."""
        total = []
        for part in cxx.split(tokens, SEQUENCED):
            found = self._operands(part)
            if len(found) > 1:
                self.report(found[0].line, found[0].text, found[-1].text)
                found = found[:1]
            total += found
        return total[:1]

    def _operands(self, tokens):
        """One entry for each operand that has an effect."""
        found = []
        i = 0
        chain = False  # the previous call is the object of the next
        while i < len(tokens):
            token = tokens[i]
            if token.text == "(":
                effect = self._call(tokens, i)
                joined = chain and bool(found)
                if effect is not None and not joined:
                    found.append(effect)
                chain = (i + 1 < len(tokens) and
                         tokens[i + 1].text in (".", "->"))
            elif token.text == "{":
                if not _is_lambda(tokens, i):
                    found += self.expression(token.inner)
                chain = False
            elif token.text == "[":
                found += self.expression(token.inner)
            elif token.text not in (".", "->") and not token.text.isidentifier():
                chain = False
            i += 1
        return found

    def _call(self, tokens, i):
        """The effect of the parentheses at i, as a call or as brackets."""
        named = None
        for call in cxx.calls(tokens[:i + 1]):
            if call[2] is tokens[i]:
                named = call
        if named is None:
            inner = self.expression(tokens[i].inner)
            return inner[0] if inner else None
        arguments = []
        for part in cxx.split(tokens[i].inner, {","}):
            arguments += self.expression(part)
        if len(arguments) > 1:
            self.report(arguments[0].line, arguments[0].text,
                        arguments[-1].text)
        if self.effects.is_effect(self.path, *named):
            return named[0]
        return arguments[0] if arguments else None


def check(functions, report):
    """Calls report(path, line, first, second) for each bad expression."""
    effects = Effects(functions)
    for function in functions:
        def tell(line, first, second, path=function.path):
            report(path, line, first, second)
        Checker(effects, function.path, tell).statements(function.body.inner)
    return effects
