"""Builds one binary under another compiler, optimisation level or planted switch."""
def _flag_impl(ctx):
    return []
bool_flag = rule(implementation = _flag_impl, build_setting = config.bool(flag = True))
def _transition_impl(settings, attr):
    return {
        "//command_line_option:compilation_mode": attr.mode,
        "//command_line_option:crosstool_top": "//tools/clang:suite" if attr.clang else settings["//command_line_option:crosstool_top"],
        "//tools/variants:planted": attr.planted,
    }
_variant = transition(
    implementation = _transition_impl,
    inputs = ["//command_line_option:crosstool_top"],
    outputs = ["//command_line_option:compilation_mode", "//command_line_option:crosstool_top", "//tools/variants:planted"],
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
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)
