// Values that differ, as a message shows them: the difference must be visible.

import CipherSQLite
import Foundation
import Microblog
import Migrations
import ObjectVault
import ObjectVaultTesting
import Testing

@Suite struct ShownValues {
  /// The reported differences after the change of a name.
  private func said(from former: String, to now: String) async throws -> [String] {
    let test = try await TestStore(microblog, migrations: MicroblogMigrations.all)
    try await test.store.write { context in _ = context.insert(User.self) { $0.name = former } }
    let before = try test.content()
    try await test.store.write { try $0.fetch(User.self).one().name = now }
    return try test.content().differences(from: before)
  }

  private let start = "User.name: 1 of 1 value differs, the first in row 1: "

  @Test(arguments: [
    ("Ada", "Bo", #""Ada" is now "Bo""#),
    ("a\nb\u{0}", "a b", #""a\nb\0" is now "a b""#),
    (
      String(repeating: "long text, ", count: 100) + "end",
      String(repeating: "long text, ", count: 100) + "END!",
      #"…"ong text, end" is now …"ong text, END!", from character 1101 on"#
    ),
    (
      "x" + String(repeating: "long text, ", count: 100), "y",
      #""xlong text, long text, long text, long t"… is now "y""#
    ),
    // One character that is written as two scalars.
    ("\u{e9}", "e\u{301}", "\"\u{e9}\" is now \"e\u{301}\" (U+E9 is now U+65 U+301)"),
  ])
  func `the difference between two texts is shown`(_ former: String, _ now: String, _ text: String)
    async throws
  {
    #expect(try await said(from: former, to: now) == [start + text])
  }

  @Test func `the difference between two blobs is shown, wherever it is`() async throws {
    let lab = try Steps.lab(["create entity Photo {\n attribute data data optional\n}"])
    let store = try await lab.store(at: 1)
    func said(from former: Data?, to now: Data?) throws -> String? {
      let id = try store.insert("Photo", ["data": former])
      let before = try store.content()
      let context = store.store.makeContext()
      try context.existing(id)?.set("data", to: now)
      try context.save()
      return try store.content().differences(from: before).first?.split(separator: ":").last.map {
        String($0)
      }
    }
    let (zeros, late) = (Data(count: 9_000), Data(count: 8_998) + [0xAB, 0])
    #expect(
      try said(from: zeros, to: late)
        == " 9000 bytes (…00 00 00 00) is now 9000 bytes (…00 00 AB 00), from byte 8999 on")
    #expect(try said(from: Data([1, 2]), to: Data()) == " 2 bytes (01 02) is now 0 bytes")
    #expect(try said(from: nil, to: Data([255])) == " nil is now 1 byte (FF)")
  }
}
