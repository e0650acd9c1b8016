// RUN: ge-opt --default-pipeline --verify-diagnostics %s

// Two inputs are told in one line, with what to do; they have no place in the text but its start.
// expected-error@-3 {{give input shapes by --input-shape as you import: input 'x' is ?x4; input 'y' is 2x?}}
func.func @main(%x: tensor<?x4xf32> {ge.name = "x"}, %y: tensor<2x?xf32> {ge.name = "y"}) -> (tensor<?x4xf32>, tensor<2x?xf32>) {
  %0 = ge.relu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %1 = ge.relu %y : (tensor<2x?xf32>) -> tensor<2x?xf32>
  func.return %0, %1 : tensor<?x4xf32>, tensor<2x?xf32>
}
