"""Builds one binary under another compiler, optimisation level, sanitizer or planted switch."""
def _flag_impl(ctx):
    return []
bool_flag = rule(implementation = _flag_impl, build_setting = config.bool(flag = True))
# Flags of a sanitizer's build; as the configs of .bazelrc.
_SANITIZERS = {
    "": [],
    "asan": ["-fsanitize=address,undefined"],
    "tsan": ["-fsanitize=thread"],
}
_SANITIZER_COPTS = {
    "": [],
    "asan": ["-O0", "-g1", "-fno-sanitize-recover=all"],
    "tsan": ["-O1", "-g1"],
}

def _transition_impl(settings, attr):
    copt = "//command_line_option:copt"
    linkopt = "//command_line_option:linkopt"
    flags = _SANITIZERS[attr.sanitizer]
    return {
        "//command_line_option:compilation_mode": attr.mode,
        "//command_line_option:crosstool_top": "//tools/clang:suite" if attr.clang else settings["//command_line_option:crosstool_top"],
        "//tools/variants:planted": attr.planted,
        copt: settings[copt] + _SANITIZER_COPTS[attr.sanitizer] + flags,
        linkopt: settings[linkopt] + flags,
    }
_variant = transition(
    implementation = _transition_impl,
    inputs = [
        "//command_line_option:copt",
        "//command_line_option:crosstool_top",
        "//command_line_option:linkopt",
    ],
    outputs = [
        "//command_line_option:compilation_mode",
        "//command_line_option:copt",
        "//command_line_option:crosstool_top",
        "//command_line_option:linkopt",
        "//tools/variants:planted",
    ],
)
def _binary_impl(ctx):
    out = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.symlink(output = out, target_file = ctx.executable.binary, is_executable = True)
    return [DefaultInfo(executable = out, files = depset([out]))]
variant_binary = rule(
    implementation = _binary_impl,
    executable = True,
    attrs = {
        "binary": attr.label(executable = True, mandatory = True, cfg = _variant),
        "mode": attr.string(default = "fastbuild"),
        "clang": attr.bool(),
        "planted": attr.bool(),
        "sanitizer": attr.string(values = ["", "asan", "tsan"]),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)
