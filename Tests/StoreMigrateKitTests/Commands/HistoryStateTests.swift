// A history that differs from the steps, as JSON: which step, in which way, and both checksums.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct HistoryStates {
  private func json(_ line: String, _ code: Int32) async throws -> JSONValue {
    let folder = try await CommandFolder()
    let result = try folder.run(CommandCase(line, code), "--json")
    #expect(result.status == code, "\(result)")
    #expect(try ReportSchema().faults(in: result.output) == [])
    return try JSONDecoder().decode(JSONValue.self, from: Data(result.output.utf8))
  }

  @Test(arguments: [
    ("@new.store -m @Edited", "edited", 1, "initial"), ("@moved.store -m @Steps", "missing", 1, "first"),
  ])
  func `status --json reports which step differs, and exits with 3`(
    _ line: String, _ kind: String, _ matching: Int, _ name: String
  ) async throws {
    let history = try #require(try await json("status \(line)", 3)["history"])
    let step = try #require(history["mismatches"]?.elements.first)
    #expect(history["complete"] == .bool(false), "\(history)")
    #expect(step["kind"] == .string(kind), "\(step)")
    #expect(step["applied"]?.string?.hasPrefix("s1:") == true && step["found"] != step["applied"], "\(step)")
    #expect((step["difference"]?.elements.isEmpty == false) == (kind == "edited"), "\(step)")
  }

  @Test func `history --json with steps reports the differences too, and exits with 0`() async throws {
    let differing = try await json("history @new.store -m @Edited", 0)
    #expect(differing["history"]?["complete"] == .bool(false))
    #expect(differing["history"]?["mismatches"]?.elements.count == 1 && differing["events"] != nil)
    let same = try await json("history @new.store -m @Steps", 0)
    #expect(same["history"]?["complete"] == .bool(true) && same["history"]?["matching"] == .number(2))
    #expect(try await json("history @new.store", 0)["history"] == nil)
  }
}
