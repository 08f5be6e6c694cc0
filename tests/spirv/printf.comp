#version 460
// Non-semantic instructions, and a string that needs escapes.
#extension GL_EXT_debug_printf : require
layout(local_size_x = 2) in;
layout(binding = 0) buffer O { uint o[]; };
void main() {
    if (o[0] > 3) debugPrintfEXT("a \"quoted\" \\ back\\slash, %u of %f\n", o[1], 0.5);
}
