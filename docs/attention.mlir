func.func @main(%q: tensor<1x8x320x64xf16> {ge.name = "q"}, %k: tensor<1x8x512x64xf16> {ge.name = "k"}, %v: tensor<1x8x512x64xf16> {ge.name = "v"}) -> (tensor<1x8x320x64xf16> {ge.name = "y"}) {
  %scores = ge.matmul %q, %k {transpose_b = true} : (tensor<1x8x320x64xf16>, tensor<1x8x512x64xf16>) -> tensor<1x8x320x512xf16>
  %weights = ge.softmax %scores : (tensor<1x8x320x512xf16>) -> tensor<1x8x320x512xf16>
  %y = ge.matmul %weights, %v : (tensor<1x8x320x512xf16>, tensor<1x8x512x64xf16>) -> tensor<1x8x320x64xf16>
  func.return %y : tensor<1x8x320x64xf16>
}
