// fetch beside writers, into pipes that are closed early, and of more rows than memory should contain.

import CipherSQLite
import Foundation
import Microblog
import ObjectVault
import TestSupport
import Testing

@Suite(.tags(.sampled, .slow)) struct FetchPipes {
  let bench: FetchBench

  init() throws { bench = try FetchBench() }

  @Test func `fetch and count change no byte and leave no file, also beside a writer`() async throws {
    try await bench.makeBlog()
    let before = try bench.folder.bytes("notes.store")
    _ = try bench.run("fetch", "Status")
    _ = try bench.run("count", "Status", "--immutable")
    #expect(try bench.folder.bytes("notes.store") == before && bench.folder.names == ["notes.store"])
    let store = try await openMicroblog(bench.url, key: FetchBench.key)
    let output = try await store.write { context in
      context.insert(User.self) { $0.name = "New" }
      try context.save()
      return try bench.run("count", "User").output
    }
    #expect(output == "4\n")
    #expect(try bench.run("count", "User").output == "5\n")
    store.close()
  }

  @Test func `a closed pipe ends fetch without a message`() async throws {
    try await bench.makeThings { context in
      for number in 0..<20_000 { try context.insert(entity: "Thing") { $0["number"] = number } }
    }
    for format in ["table", "json", "csv", "lines"] {
      let result = try bench.shell(
        "set -o pipefail; \"$TOOL\" fetch \"$STORE\" Thing --no-input --format \(format) | head -n 2")
      #expect(result.status == 0 && result.errors.isEmpty && !result.output.isEmpty, "\(format): \(result)")
    }
    let full = try bench.shell("\"$TOOL\" fetch \"$STORE\" Thing --no-input > /dev/full")
    #expect(full.status == 1 && full.errors.contains("could not be written"), "\(full)")
    #expect(try bench.shell("\"$TOOL\" fetch \"$STORE\" Thing --no-input >&-").status == 1)
    #expect(bench.folder.names == ["notes.store"])
  }

  @Test func `fetch of a hundred thousand rows uses no more memory than of a thousand`() async throws {
    try await bench.makeThings { context in
      for number in 0..<100_000 {
        try context.insert(entity: "Thing") {
          $0["text"] = String(repeating: "text \(number) ", count: 20)
          $0["number"] = number
        }
      }
    }
    func peak(_ words: String) throws -> (kilobytes: Int, lines: Int) {
      // The peak memory of the shell's child.
      let result = try bench.shell(
        "python3 -c 'import resource,subprocess,sys; n=subprocess.run(sys.argv[1:],stdout=open(\"\(bench.folder.path("out"))\",\"w\"));"
          + " print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' \"$TOOL\" fetch \"$STORE\" Thing --no-input \(words)"
      )
      let bytes = try bench.folder.bytes("out")
      return (
        try #require(Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines))),
        bytes.count { $0 == 10 }
      )
    }
    for format in Rotation.part(of: ["table", "json", "csv", "lines"], oneIn: 4) {
      // The last rows: all pages are read for them, and are in the engine's cache.
      let few = try peak("--format \(format) --limit 1000 --offset 99000")
      let many = try peak("--format \(format)")
      #expect(many.lines >= 100_000, "\(format)")
      // The rows have about 25 MiB, and more than that in memory.
      #expect(many.kilobytes < few.kilobytes + 12_000, "\(format): \(few.kilobytes) and \(many.kilobytes) kB")
    }
  }
}
