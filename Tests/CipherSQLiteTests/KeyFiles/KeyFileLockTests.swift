// One change of a key file at a time: which lock counts, and how long a caller waits for it.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.pure)) struct KeyFileLocks {
  let folder: TemporaryFolder
  let path: String
  let keys: KeyFile

  static let token = KeyFile.Unlock.rawKey([UInt8](repeating: 9, count: 32))

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.keys")
    keys = try KeyFile.create(at: path, slot: "token", unlock: Self.token)
  }

  /// Takes a `flock` lock, as any program can.
  func lock(_ path: String) throws -> Int32 {
    // Programs that other tests start meanwhile do not inherit it.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    try #require(descriptor >= 0 && flock(descriptor, LOCK_EX) == 0)
    return descriptor
  }

  @Test(.timeLimit(.minutes(60)))
  func `a lock on the folder, which any user may take, does not prevent changing slots`() throws {
    let descriptor = try lock(folder.path(""))
    defer { close(descriptor) }
    try keys.addSlot("other", unlock: Self.token)
    #expect(try KeyFile.slots(at: path).map(\.name) == ["token", "other"])
  }

  @Test(.timeLimit(.minutes(60)))
  func `a change waits for a lock on the key file, and then reports that the file is busy`() throws {
    let descriptor = try lock(path)
    var keys = keys
    keys.lockTimeout = 0.3
    #expect(isBusy(path, after: 0.3...120) { try keys.addSlot("other", unlock: Self.token) })
    close(descriptor)
    try keys.addSlot("other", unlock: Self.token)
  }

  @Test(.timeLimit(.minutes(60)))
  func `concurrent changes of slots run one after the other, and none is lost`() async throws {
    // Each change replaces the file that the others wait for.
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<3 {
        let keys = keys
        group.addTask {
          try await onThread {
            var keys = keys
            keys.lockTimeout = 60
            for number in 0..<10 { try keys.addSlot("\(writer)-\(number)", unlock: Self.token) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try KeyFile.slots(at: path).count == 31)
    _ = try KeyFile.open(at: path, unlock: Self.token)
  }

  @Test func `a user's file with the name of the former key file is not overwritten`() throws {
    try folder.write(Data("my own notes".utf8), to: "a.keys.previous")
    let keys = try KeyFile.open(at: path, unlock: Self.token)
    #expect(throws: SQLError.alreadyExists(file: path + ".previous")) {
      try keys.addSlot("spare", unlock: .rawKey([UInt8](repeating: 8, count: 32)))
    }
    #expect(try folder.bytes("a.keys.previous") == Data("my own notes".utf8))
    #expect(try KeyFile.slots(at: path).count == 1)
  }

  @Test func `a key file that is opened through a link is changed in place, and the link stays`() throws {
    let link = folder.path("link.keys")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "a.keys")
    let linked = try KeyFile.open(at: link, unlock: Self.token)
    try linked.addSlot("spare", unlock: .rawKey([UInt8](repeating: 8, count: 32)))
    try linked.removeSlot("token")
    for file in [path, link, path + ".previous"] {
      #expect(throws: SQLError.noSlotOpens(file: file)) {
        try KeyFile.open(at: file, unlock: Self.token)
      }
    }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "a.keys")
    #expect(folder.names == ["a.keys", "a.keys.previous", "link.keys"])
  }
}
