// RUN: ge-opt %s --split-input-file --verify-diagnostics
// Each case breaks one rule of constants and their attributes.

func.func @f() {
  // expected-error@+1 {{sha256 must be 64 lower-case hexadecimal digits}}
  %w = ge.constant #ge.weight<"w", sha256 = "abc"> : tensor<70xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{result element type must be f16, got f32}}
  %w = ge.constant #ge.fold<"ge.cast", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {to = "f16"}, tensor<70xf16>> : tensor<70xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{give 70, result is declared 71}}
  %w = ge.constant #ge.fold<"ge.relu", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {}, tensor<70xf32>> : tensor<71xf32>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{the value is stored as tensor<70x3xf16>, the result is declared tensor<70x3xf16, #layout.fractal_nz}}
  %w = ge.constant #ge.fold<"ge.relu", [#ge.weight<"w", sha256 = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa">], {}, tensor<70x3xf16>> : tensor<70x3xf16, #layout.fractal_nz<c0 = 16, pad = zero>>
  return
}

// -----

func.func @f() {
  // expected-error@+1 {{Unexpected attribute "text"}}
  %w = ge.constant "text" : tensor<70xf32>
  return
}
