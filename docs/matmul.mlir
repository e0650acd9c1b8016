func.func @main(%a: tensor<256x768xf16> {ge.name = "a"}, %b: tensor<768x2048xf16> {ge.name = "b"}) -> (tensor<256x2048xf16> {ge.name = "y"}) {
  %y = ge.matmul %a, %b : (tensor<256x768xf16>, tensor<768x2048xf16>) -> tensor<256x2048xf16>
  func.return %y : tensor<256x2048xf16>
}
