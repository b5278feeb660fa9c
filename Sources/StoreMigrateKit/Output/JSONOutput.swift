// The JSON output: one object for each run, including failed ones.

import Foundation

/// The keys of every run, followed by the report's own keys.
private struct Envelope: Encodable {
  let command: String
  let report: any Report
  let warnings: [String]

  private enum CodingKeys: String, CodingKey { case tool, format, command, ok, exit, error, warnings }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode("store-migrate", forKey: .tool)
    try container.encode(1, forKey: .format)
    try container.encode(command, forKey: .command)
    try container.encode(report.exitCode == .ok, forKey: .ok)
    try container.encode(report.exitCode.rawValue, forKey: .exit)
    try container.encodeNil(forKey: .error)
    // A report that has its own key `warnings` includes these, and replaces the key.
    if !warnings.isEmpty { try container.encode(warnings, forKey: .warnings) }
    try report.encode(to: encoder)
  }
}

private struct Failure: Encodable {
  let tool = "store-migrate"
  let format = 1
  let command: String
  let ok = false
  let exit: Int32
  let error: String
  /// How the history compares with the steps, when the error is about that.
  let history: HistoryState?
  /// The warnings; nil, and so omitted, when there are none.
  let warnings: [String]?
}

func json(_ command: String, _ report: any Report, warnings: [String]) -> String {
  encoded(Envelope(command: command, report: report, warnings: warnings))
}

func jsonError(
  _ command: String, _ code: ExitCode, message: String, history: HistoryState? = nil,
  warnings: [String]
) -> String {
  encoded(
    Failure(
      command: command, exit: code.rawValue, error: message, history: history,
      warnings: warnings.isEmpty ? nil : warnings))
}

private func encoded(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}
