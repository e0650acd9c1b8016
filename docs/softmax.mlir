func.func @main(%x: tensor<64x1000xf16> {ge.name = "x"}) -> (tensor<64x1000xf16> {ge.name = "y"}) {
  %y = ge.softmax %x : (tensor<64x1000xf16>) -> tensor<64x1000xf16>
  func.return %y : tensor<64x1000xf16>
}
