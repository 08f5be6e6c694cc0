// SPDX-License-Identifier: MIT
float scaled(float x) { return x * SCALE; }
