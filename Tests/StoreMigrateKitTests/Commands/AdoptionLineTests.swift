// baseline: its messages for a plaintext file, and for names that allow nothing.

import Foundation
import ObjectVault
import TestSupport
import Testing

@Suite struct AdoptionLines {
  let folder: TemporaryFolder

  init() async throws { folder = try await CommandFolder().folder }

  private func run(_ line: String) throws -> ToolResult {
    try runTool(
      "/bin/sh", ["-c", "\(line) --no-input"],
      environment: ["NEW_KEY": "correct horse", "tool": builtExecutable("store-migrate")],
      directory: folder.url.path)
  }

  @Test func `baseline refuses a plaintext file in place and prints the line that imports its rows`() throws {
    // The tool does not prompt for a key, as the file has none.
    let refused = try run("$tool baseline legacy.db --to 1 -m Legacy")
    #expect(
      refused.status == 12 && refused.errors.contains("this is an unencrypted SQLite file"), "\(refused)")
    let line = try #require(refused.errors.split(separator: "\n").first { $0.hasPrefix("      ") })
    #expect(line.hasSuffix(" baseline legacy.db NEW.store --to 1 -m Legacy"), "\(refused)")
    let taken = try run("\(line) --new-key-env NEW_KEY --yes")
    #expect(taken.status == 0 && folder.names.contains("NEW.store"), "\(taken)")
  }

  @Test func `baseline reports a name that allows nothing, with the nearest name`() throws {
    let line = "$tool baseline legacy.db its.store --to 1 -m Legacy --new-key-env NEW_KEY"
    let lossy = try run(line)
    #expect(lossy.status == 5 && lossy.errors.contains("--allow lossy:kinds"), "\(lossy)")
    let names = lossy.errors.split(separator: " ").filter { $0.hasPrefix("lossy:") }.map {
      $0.trimmingCharacters(in: .whitespacesAndNewlines)
    }
    let last = try #require(names.last)
    let wrong = try run(
      "\(line) \(names.dropLast().map { "--allow \($0)" }.joined(separator: " ")) --allow \(last)x")
    #expect(
      wrong.status == 5
        && wrong.errors.contains(
          "--allow \(last)x has no effect: legacy.db has no such loss. Did you mean \"\(last)\"?"),
      "\(wrong)")
    #expect(wrong.errors.components(separatedBy: "has no effect").count == 2, "\(wrong)")
    let bad = try run("\(line) --allow \(last.dropFirst(6))")
    #expect(bad.status == 64, "\(bad)")
    let done = try run(
      "\(line) \(names.map { "--allow \($0)" }.joined(separator: " ")) --allow lossy:nothing")
    #expect(done.status == 0 && done.errors.contains("--allow lossy:nothing has no effect"), "\(done)")
    #expect(folder.names.contains("its.store"))
  }
}
