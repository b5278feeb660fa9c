// Arrays in slices, for statements that take so many values and no more.

extension Array {
  /// Slices of at most `size` elements.
  func chunked(_ size: Int) -> [[Element]] {
    stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
  }
}
