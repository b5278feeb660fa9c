// Changes of slots with each system call failed once and killed once.

import CipherSQLite
import Foundation
import TestSupport
import Testing

@Suite(.tags(.faults, .slow), .enabled(if: FaultInjector.isAvailable, "needs a C compiler, on Linux"))
struct SlotFaults {
  let folder: TemporaryFolder
  let keys: String
  // Raw keys, as these tests are about files and not about passphrases.
  static let ann = [UInt8](repeating: 0x22, count: 32)
  static let bo = [UInt8](repeating: 0x33, count: 32)
  static let fresh = [UInt8](repeating: 0x44, count: 32)

  init() throws {
    folder = try TemporaryFolder()
    keys = folder.path("n.keys")
  }

  func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

  /// Creates a key file with the slots Ann and Bo, and a previous copy that Bo opens as well.
  func reset() throws {
    for name in folder.names { try FileManager.default.removeItem(atPath: folder.path(name)) }
    let file = try KeyFile.create(at: keys, slot: "Ann", unlock: .rawKey(Self.ann))
    try file.addSlot("Bo", unlock: .rawKey(Self.bo))
    try file.renameSlot("Ann", to: "Anna")
    try file.renameSlot("Anna", to: "Ann")
    try folder.write(Data("mine".utf8), to: "n.keys.new-ideas")
  }

  func opens(_ file: String, _ secret: [UInt8]) -> Bool {
    (try? KeyFile.open(at: file, unlock: .rawKey(secret))) != nil
  }

  func run(_ words: [String], _ fault: Fault?) throws -> FaultInjector.Run {
    let newKey =
      ["add", "change"].contains(words[0]) ? ["--new-key-env", "NEW_KEY", "--new-key-format", "hex"] : []
    return try FaultInjector.run(
      builtExecutable("store-migrate"),
      ["slots", words[0], keys] + words.dropFirst() + newKey + (words[0] == "remove" ? ["--yes"] : []) + [
        "--key-env", "OLD_KEY", "--key-format", "hex", "--no-input",
      ], environment: ["OLD_KEY": hex(Self.ann), "NEW_KEY": hex(Self.fresh)],
      in: folder.url.lastPathComponent,
      fault: fault)
  }

  static let changes = [["add", "Cy"], ["change", "Bo"], ["remove", "Bo"], ["rename", "Bo", "Bob"]]

  @Test(arguments: changes)
  func `a change of slots is made or not, and a removed secret opens no copy of the file`(_ words: [String])
    throws
  {
    try reset()
    let clean = try run(words, nil)
    #expect(clean.result.status == 0, "\(clean.result)")
    #expect(clean.calls.contains { $0.name == "rename" && $0.path.hasSuffix(".previous") }, "\(clean.calls)")
    let isRevoking = words[0] == "change" || words[0] == "remove"
    for kind in [Fault.Kind.kill, .error(EIO), .errors(ENOSPC), .torn] {
      let indices = FaultInjector.indices(of: clean.calls.count, most: kind == .kill ? 6 : 3)
      for index in indices {
        try reset()
        let fault = Fault(kind, at: index)
        let run = try run(words, fault)
        let place: Comment = "\(fault), \(run.calls.last?.description ?? ""): \(run.result)"
        #expect(opens(keys, Self.ann), place)
        let isMade = opens(keys, Self.fresh) || !opens(keys, Self.bo) || slot(2) == "Bob"
        if isMade, isRevoking { #expect(!opens(keys + ".previous", Self.bo), place) }
        switch kind {
        case .kill, .torn: #expect(run.result.status != 0 || run.calls.count < index, place)
        // A failed sync of the folder does not mean that nothing was done.
        default: #expect(isMade || run.result.status != 0, place)
        }
        #expect(try folder.bytes("n.keys.new-ideas") == Data("mine".utf8), place)
        // A further change leaves no temporary files.
        try KeyFile.open(at: keys, unlock: .rawKey(Self.ann)).renameSlot("Ann", to: "Anne")
        #expect(folder.names == ["n.keys", "n.keys.new-ideas", "n.keys.previous"], place)
      }
    }
  }

  func slot(_ number: Int) -> String? {
    (try? KeyFile.slots(at: keys)).flatMap { $0.count >= number ? $0[number - 1].name : nil }
  }
}
