"""Gates whose work Bazel caches: header by header, archive by archive."""

# Compiles one header as a translation unit of its own; $1 is the header.
_ALONE = ("g++ -std=c++20 -Wall -Wextra -Werror -fsyntax-only " +
          "-iquote . -x c++ \"$1\"")

HeadersInfo = provider(fields = ["stamps"])

def _headers_aspect_impl(target, ctx):
    own = []
    if CcInfo in target:
        context = target[CcInfo].compilation_context
        defines = " ".join(["-D" + d for d in context.defines.to_list()])
        files = []
        for attribute in ["hdrs", "srcs"]:
            for source in getattr(ctx.rule.attr, attribute, []):
                files += source.files.to_list()
        for file in files:
            if file.extension != "h" or not file.is_source:
                continue
            stamp = ctx.actions.declare_file(
                "alone/{}/{}".format(ctx.label.name, file.basename),
            )
            ctx.actions.run_shell(
                outputs = [stamp],
                inputs = depset([file], transitive = [context.headers]),
                command = _ALONE + " " + defines + " && echo \"$1\" > \"$2\"",
                arguments = [file.path, stamp.path],
                mnemonic = "HeaderAlone",
                progress_message = "Compiling {} alone".format(file.path),
                use_default_shell_env = True,
            )
            own.append(stamp)
    below = [
        d[HeadersInfo].stamps
        for d in getattr(ctx.rule.attr, "deps", [])
        if HeadersInfo in d
    ]
    return [HeadersInfo(stamps = depset(own, transitive = below))]

_headers_aspect = aspect(
    implementation = _headers_aspect_impl,
    attr_aspects = ["deps"],
)

def _headers_impl(ctx):
    stamps = depset(transitive = [
        d[HeadersInfo].stamps
        for d in ctx.attr.deps
    ])
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    args = ctx.actions.args()
    args.use_param_file("%s", use_always = True)
    args.add_all(stamps)
    ctx.actions.run_shell(
        outputs = [out],
        inputs = stamps,
        arguments = [out.path, args],
        command = "xargs cat < \"$2\" | sort -u > \"$1\"",
    )
    return [DefaultInfo(
        files = depset([out]),
        runfiles = ctx.runfiles([out]),
    )]

# The headers of deps and of all that they depend on, each compiled alone.
headers_alone = rule(
    implementation = _headers_impl,
    attrs = {"deps": attr.label_list(aspects = [_headers_aspect])},
)

def _refused_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name + ".txt")
    ctx.actions.run_shell(
        outputs = [out],
        inputs = [ctx.file.header],
        arguments = [ctx.file.header.path, out.path],
        command = "if {} 2> \"$2\"; then exit 1; fi".format(_ALONE),
        use_default_shell_env = True,
    )
    return [DefaultInfo(
        files = depset([out]),
        runfiles = ctx.runfiles([out]),
    )]

# Fails to build if the header compiles alone: proves the gate.
header_refused = rule(
    implementation = _refused_impl,
    attrs = {"header": attr.label(allow_single_file = [".h"])},
)

def _archives_impl(ctx):
    files = []
    for dep in ctx.attr.deps:
        for input in dep[CcInfo].linking_context.linker_inputs.to_list():
            package = input.owner.package
            if not (package + "/").startswith(ctx.attr.room + "/"):
                continue
            if package in ctx.attr.excluded:
                continue
            for library in input.libraries:
                archive = library.pic_static_library or library.static_library
                if archive != None:
                    files.append(archive)
    return [DefaultInfo(
        files = depset(files),
        runfiles = ctx.runfiles(files),
    )]

# The static libraries of a room among all that deps link.
archives = rule(
    implementation = _archives_impl,
    attrs = {
        "deps": attr.label_list(providers = [CcInfo]),
        "room": attr.string(mandatory = True),
        "excluded": attr.string_list(),
    },
)
