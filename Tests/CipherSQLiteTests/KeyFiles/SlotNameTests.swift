// Valid and invalid names of slots.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct SlotNames {
  private let folder: TemporaryFolder
  private let path: String
  private static let token = KeyFile.Unlock.rawKey([UInt8](repeating: 9, count: 32))
  private static let other = KeyFile.Unlock.rawKey([UInt8](repeating: 8, count: 32))

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.keys")
  }

  static let refused = [
    "", String(repeating: "x", count: 65), "a=b", "=", "a\nb", "a\r\nb", "a\tb", "\u{1B}[31mred", "a\u{7F}",
    "a\u{85}b",
    "a\u{2028}b", "nul\0",
  ]

  @Test(arguments: refused)
  func `an invalid slot name is refused by every call that takes one`(_ name: String) throws {
    func isRefused(_ body: () throws -> Void) -> Bool {
      do { try body() } catch SQLError.slotName(let file, let reason) {
        // Messages are shown on screens, so they must not contain control characters.
        return file == path && !reason.unicodeScalars.contains { $0.properties.generalCategory == .control }
      } catch { return false }
      return false
    }
    #expect(isRefused { _ = try KeyFile.create(at: path, slot: name, unlock: Self.token) })
    #expect(folder.names.isEmpty)
    let keys = try KeyFile.create(at: path, slot: "Ann", unlock: Self.token)
    let before = try folder.bytes("a.keys")
    #expect(isRefused { try keys.addSlot(name, unlock: Self.other) })
    #expect(isRefused { _ = try keys.addRecoveryCode(slot: name) })
    #expect(isRefused { try keys.renameSlot("Ann", to: name) })
    #expect(try folder.bytes("a.keys") == before && folder.names == ["a.keys"])
  }

  @Test(arguments: ["Ann", "Böhm 北京", "a-b.c/d:e,f", "👩‍👩‍👧", "مفتاح", String(repeating: "x", count: 64)])
  func `other slot names are accepted`(_ name: String) throws {
    let keys = try KeyFile.create(at: path, slot: name, unlock: Self.token)
    try keys.renameSlot(name, to: "x")
    try keys.addSlot(name, unlock: Self.other)
    #expect(try KeyFile.slots(at: path).map(\.name) == ["x", name])
  }

  @Test func `an error of a library is not described as a success of the system`() {
    let text = "\(SQLError.system(file: "key file", operation: "HKDF", code: 0))"
    #expect(text.contains("HKDF failed") && !text.contains("Success"), "\(text)")
  }
}
