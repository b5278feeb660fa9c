// `fetch --explain`, and what `verify` reports about statistics, with the real binary on a large table.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.slow)) struct ExplainCommand {
  let bench: FetchBench

  init() throws { bench = try FetchBench() }

  private func addStatuses() throws {
    let connection = try Connection.open(bench.url.path, key: FetchBench.key)
    defer { connection.close() }
    try connection.execute(
      """
      INSERT INTO Status(text, createdAt)
      WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k LIMIT 1500) SELECT 't' || i, i FROM k
      """)
  }

  @Test func `fetch --explain prints the plan, the warnings and the line of a step, and no rows`()
    async throws
  {
    try await bench.makeBlog()
    try addStatuses()
    let found = try bench.run("fetch", "Status", "--where", "text == 't7'", "--explain")
    #expect(found.status == 0 && found.errors.isEmpty, "\(found)")
    for part in [
      "-- value 1 = 't7'", "SCAN Status t0", "no index serves the condition on text",
      "add index Status(text)",
    ] {
      #expect(found.output.contains(part), "\(part):\n\(found.output)")
    }
    let json = try bench.run("fetch", "Status", "--where", "text == 't7'", "--explain", "--json").output
    #expect(json.contains("\"operation\":\"add index Status(text)\""), "\(json)")
    #expect(try ReportSchema().faults(in: json) == [])
    let groups = try bench.run("fetch", "Status", "--group-by", "text", "--count", "--explain")
    #expect(groups.status == 0, "\(groups)")
    #expect(
      groups.output.contains("GROUP BY t0.\"text\"") && groups.output.contains("SCAN Status t0"), "\(groups)")
    let refused = try bench.run("fetch", "Status", "--explain", "--format", "csv")
    #expect(refused.status == 64 && refused.errors.contains("--explain prints no rows"), "\(refused)")
  }

  @Test func `verify names tables whose statistics are missing, and finds no fault in that`() async throws {
    try await bench.makeBlog()
    let before = try bench.run("verify")
    #expect(before.status == 0 && !before.output.contains("Statistics"), "\(before)")
    try addStatuses()
    // The ids of rows from another program are a finding, so the high-water mark is raised.
    let connection = try Connection.open(bench.url.path, key: FetchBench.key)
    try connection.execute("UPDATE vault_ids SET last = (SELECT max(id) FROM Status) WHERE entity = 'Status'")
    connection.close()
    let after = try bench.run("verify")
    #expect(after.status == 0, "\(after)")
    #expect(after.output.contains("Statistics are missing or out of date: Status."), "\(after)")
    let json = try bench.run("verify", "--json").output
    #expect(
      json.contains("\"outdatedStatistics\":[\"Status\"]") && json.contains("\"findings\":[]"), "\(json)")
    #expect(try ReportSchema().faults(in: json) == [])
  }
}
