// RUN: ge-opt --split-input-file --verify-diagnostics %s

func.func @unknown_operator(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{Operation ge.rleu is not registered, did you mean 'ge.relu'?}}
  %y = ge.rleu %x : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @used_before_defined(%x: tensor<2xf32>) -> tensor<2xf32> {
  // expected-error@+1 {{operand #0 '%z' does not dominate this use}}
  %y = ge.relu %z : (tensor<2xf32>) -> tensor<2xf32> loc("relu1"("Relu"("y")))
  %z = ge.relu %x : (tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

func.func @node_name_in_the_message(%x: tensor<2x3xf32>) -> tensor<2x4xf32> {
  // expected-error@+1 {{'ge.relu' ("relu1")}}
  %y = ge.relu %x : (tensor<2x3xf32>) -> tensor<2x4xf32> loc("relu1"("Relu"("y")))
  return %y : tensor<2x4xf32>
}

// -----

// expected-error@+2 {{Could not parse entire input!}}
func.func @closed_twice() { return }
}
