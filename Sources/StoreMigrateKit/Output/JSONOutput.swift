// One JSON object for each run, failed ones too.

import Foundation

/// The report's own keys, and around them what every run says.
private struct Envelope: Encodable {
  let command: String
  let report: any Report

  private enum CodingKeys: String, CodingKey { case tool, format, command, ok, exit, error }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode("store-migrate", forKey: .tool)
    try container.encode(1, forKey: .format)
    try container.encode(command, forKey: .command)
    try container.encode(report.exitCode == .ok, forKey: .ok)
    try container.encode(report.exitCode.rawValue, forKey: .exit)
    try container.encodeNil(forKey: .error)
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
  /// The history beside the steps, where that is what was found.
  let history: HistoryState?
}

func json(_ command: String, _ report: any Report) -> String {
  encoded(Envelope(command: command, report: report))
}

func jsonError(_ command: String, _ code: ExitCode, _ message: String, _ history: HistoryState? = nil)
  -> String
{
  encoded(Failure(command: command, exit: code.rawValue, error: message, history: history))
}

private func encoded(_ value: some Encodable) -> String {
  let encoder = JSONEncoder()
  encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
}
