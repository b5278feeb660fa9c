// Splits arrays into slices, for statements with a limited number of parameters.

extension Array {
  /// Splits the array into slices of at most `size` elements, in order.
  func chunked(_ size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
