// The error that a check throws. Its text can be shown in the report of a test as it is.

/// The error of a check that failed: which check, at which place, and what it found.
///
/// Swift Testing and XCTest both print the `description` of an error that a test throws, so a test needs
/// only `try`. The text may contain values of generated objects, but no value from a file that the test
/// passes to a check.
public struct CheckFailure: Error, Sendable, Hashable {
  /// The check, such as `checkEveryPath`.
  public let check: String
  /// The place of the failure, such as `version 2 to 6`.
  public let place: String
  /// What was found, one sentence each; at least one.
  public let findings: [String]
  /// What to do about it; nil when that is not known.
  public let advice: String?

  init(_ check: String, at place: String, findings: [String], advice: String? = nil) {
    (self.check, self.place, self.findings, self.advice) = (check, place, findings, advice)
  }

  /// Returns the failure with a more precise place.
  func at(_ place: String) -> CheckFailure {
    CheckFailure(check, at: place, findings: findings, advice: advice)
  }
}

extension CheckFailure: CustomStringConvertible {
  private static let mostFindings = 20

  /// The check and the place, a line for each of the first findings, and what to do.
  public var description: String {
    var lines = ["\(check), \(place):"] + findings.prefix(Self.mostFindings).map { "- \($0)" }
    if findings.count > Self.mostFindings { lines.append("- and \(findings.count - Self.mostFindings) more") }
    if let advice { lines.append(advice) }
    return lines.joined(separator: "\n")
  }
}

/// Throws a ``CheckFailure`` when there are findings.
func require(
  _ findings: [String], by check: String, at place: String, advice: String? = nil
) throws(CheckFailure) {
  guard findings.isEmpty else { throw CheckFailure(check, at: place, findings: findings, advice: advice) }
}
