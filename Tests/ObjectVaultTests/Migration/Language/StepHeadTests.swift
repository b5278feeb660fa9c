// The headers of a migration file: each key occurs once, and each value has its type and fits this file.

import Foundation
import ObjectVault
import Testing

@Suite(.tags(.pure)) struct StepHeads {
  private func step(_ head: String, up: String = "") throws -> MigrationStep {
    try MigrationStep(number: 3, name: "towns", text: "\(head)\n[up]\n\(up)\n")
  }

  @Test(arguments: [
    ("format: 1\nformat: 1", 2, "format occurs twice"), ("format: 1\nnote: a\nnote: b", 3, "twice"),
    ("format: 1\nallow: lossy:A.a\nallow: lossy:A.b", 3, "write all on one line"),
    ("format: 1\nname: a\nname: a", 3, "name occurs twice"),
    ("format: 1\nreader: 4", 2, "1 to 3"), ("format: 1\nreader: 0", 2, "1 to 3"),
    ("format: 1\nreader: -3", 2, "1 to 3"), ("format: 1\nreader: 99999999999", 2, "1 to 3"),
    ("format: 1\nreader: 99999999999999999999", 2, "takes a number"),
    ("format: 1\nallow: User.city", 2, "with lossy: before each name"),
    ("format: 1\nallow: lossy:", 2, "cannot be allowed"),
    ("format: 1\nallow: lossy:A.a, foo", 2, "\"foo\" cannot be allowed"),
    ("allow: lossy:A.", 1, "cannot be allowed"),
    ("name: towns", 1, "begin the file with format: 1"),
    ("format: 1\n<<<<<<< HEAD\nnote: a\n=======\nnote: b\n>>>>>>> other", 2, "a merge conflict"),
  ])
  func `an invalid header is refused with its line`(_ head: String, _ line: Int, _ words: String) throws {
    do {
      let read = try step(head)
      Issue.record("it was accepted: \(read.text)")
    } catch StoreError.migrationSyntax(let error) {
      #expect(error.line == line && "\(error)".contains(words), "\(error)")
    }
  }

  @Test func `a merge conflict among operations is reported as one`() throws {
    #expect {
      try step("format: 1", up: "<<<<<<< ours\ndrop entity A\n=======\ndrop entity B\n>>>>>>> theirs")
    } throws: { error in
      guard case StoreError.migrationSyntax(let error) = error else { return false }
      return error.line == 3 && error.reason == "there is a merge conflict here"
    }
  }

  @Test func `a step has the values of its headers`() throws {
    let read = try step(
      "note: why: because\nformat: 1\nallow: lossy:A.a lossy:B, lossy:C\nreader: 2\nname: towns\nbackup: never"
    )
    #expect(read.note == "why: because" && read.reader == 2 && read.backup == .never)
    #expect(read.allowed == ["lossy:A.a", "lossy:B", "lossy:C"])
    #expect(try MigrationStep(number: 3, name: "towns", text: read.text).text == read.text)
    #expect(try step("format: 1").reader == 3)
  }

  @Test func `a note takes the whole rest of its line`() throws {
    let step = try step("format: 1\nnote: fixes issue #12: towns  # of users")
    #expect(step.note == "fixes issue #12: towns  # of users")
    #expect(try MigrationStep(number: 3, name: "towns", text: step.text) == step)
    #expect(try step.checksum == self.step("format: 1").checksum)
  }

  @Test(arguments: ["", "../towns", "a/b", "a\nb", "a\rb", "a\0b"])
  func `a step name that no file can have is refused`(_ name: String) {
    #expect(throws: StoreError.self) { try MigrationStep(number: 1, name: name, text: "format: 1\n[up]\n") }
  }
}
