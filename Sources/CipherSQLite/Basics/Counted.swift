// A number and what it counts, as messages write it of one and of several.

/// Such as `1 row`, `2 rows`, `0 entries`.
/// - Parameters:
///   - one: What one of them is called.
///   - many: What several are called; by default with an `s` behind.
package func counted(_ number: some BinaryInteger, _ one: String, _ many: String? = nil) -> String {
  "\(number) \(number == 1 ? one : many ?? one + "s")"
}
