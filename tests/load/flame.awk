# Stacks of `inferno-collapse-perf --kernel`, in fewer words.

function plain(frame,    type, crate) {
  if (frame ~ /_\[k\]$/)
    return sub(/^__x64_sys_/, "", frame) ? "kernel: " substr(frame, 1, length(frame) - 4) : ""
  # Machine code without a file: what the plugins were compiled to.
  if (frame ~ /^\[perf-/) return "WebAssembly"
  if (frame ~ /^\[|^(_start|main|clone3|start_thread|__libc_start|__rust|asm_)/) return ""
  gsub(/::\{\{[^}]*\}\}/, "", frame)
  # `<Type as Trait>::method` is `Type::method`.
  if (frame ~ /^</) {
    type = frame
    sub(/^<+&?(mut )?/, "", type)
    sub(/( as |<|>).*/, "", type)
    sub(/.*::/, "", frame)
    frame = type "::" frame
  }
  while (gsub(/<[^<>]*>/, "", frame)) {}
  gsub(/::::/, "::", frame)
  if (sub(/^waxwing::/, "", frame)) return frame
  crate = frame
  if (!sub(/::.*/, "", crate) || crate ~ /^waxwing/) return frame
  return crate ~ /^[a-z0-9_]+$/ && crate !~ /^(core|std|alloc|futures|tower)/ ? crate : ""
}

{
  count = $NF
  sub(/ [^ ]+$/, "")
  frames = split($0, frame, ";")
  stack = last = ""
  # The first one is the thread.
  for (i = 2; i <= frames; i++) {
    name = plain(frame[i])
    if (name != "" && name != last) stack = stack ";" (last = name)
  }
  # From a plugin's stack no way leads back to its caller.
  if (stack ~ /^;(WebAssembly|wasmtime)/) stack = ";plugins" stack
  sum[stack == "" ? "other" : substr(stack, 2)] += count
}

END { for (stack in sum) printf "%s %.0f\n", stack, sum[stack] }
