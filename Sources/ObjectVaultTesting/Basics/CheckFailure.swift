// What a check throws: which one, where, and what it found, in words that a test's report can show as they are.

/// What a check found wrong.
///
/// Swift Testing and XCTest both print the `description` of an error that a test throws, so a test needs nothing but
/// `try`. It holds values of generated objects, and never those of a file that was given.
public struct CheckFailure: Error, Sendable, Hashable {
  /// The check, such as `checkEveryPath`.
  public let check: String
  /// Where it failed, such as `version 2 to 6`.
  public let place: String
  /// What was found, a sentence each; at least one.
  public let findings: [String]
  /// What to do about it, where that can be said.
  public let advice: String?

  init(_ check: String, _ place: String, _ findings: [String], advice: String? = nil) {
    (self.check, self.place, self.findings, self.advice) = (check, place, findings, advice)
  }

  /// The same at a place that is known better.
  func at(_ place: String) -> CheckFailure { CheckFailure(check, place, findings, advice: advice) }
}

extension CheckFailure: CustomStringConvertible {
  private static let mostFindings = 20

  /// The check and the place, a line for each finding, and what to do.
  public var description: String {
    var lines = ["\(check), \(place):"] + findings.prefix(Self.mostFindings).map { "- \($0)" }
    if findings.count > Self.mostFindings { lines.append("- and \(findings.count - Self.mostFindings) more") }
    if let advice { lines.append(advice) }
    return lines.joined(separator: "\n")
  }
}

/// Throws when there are findings.
func require(
  _ findings: [String], _ check: String, _ place: String, advice: String? = nil
) throws(CheckFailure) {
  guard findings.isEmpty else { throw CheckFailure(check, place, findings, advice: advice) }
}
