// The byte format of a key file, versions 1 and 2. All numbers are big-endian.
//
//   header, 48 bytes
//     0   8  "OVKEYS\r\n": a transfer as text visibly breaks it
//     8   2  version: 1, or 2 once the file has had another data key
//    10   1  number of slots, 1 to 32
//    11   1  number of pending slots, of a rotation that is not finished; 0 to 32
//    12   1  number of former data keys, 0 to 64 (version 2, else 0)
//    13   3  zero
//    16  16  identity: random, set when the file is created
//    32   8  revision: how often the file was written
//    40   8  number of the present data key, counted from 1 (version 2, else 0)
//   slots, then pending slots, 176 bytes each
//     0   1  kind: 1 passphrase, 2 raw key, 3 recovery code
//     1   1  length of the name in bytes, 1 to 64
//     2   2  zero
//     4   1  scrypt's log2 N (kind 1, else 0)
//     5   3  zero
//     8   4  scrypt's r
//    12   4  scrypt's p
//    16  32  salt
//    48  12  nonce
//    60  32  the data key, encrypted with AES-256-GCM
//    92  16  GCM's tag; associated data: "OVKEYS\r\n", 0, 1, the identity, slot bytes 0..<48 with the
//            length of the name as 0
//   108  64  name in UTF-8, then zeros
//   172   4  zero
//   former data keys, the oldest first, 78 bytes each and the paths (FormerDataKey)
//     0   8  number, counted from 1
//     8   8  when another key replaced it, in seconds since 1970
//    16  12  nonce
//    28  32  the former data key, encrypted with AES-256-GCM
//    60  16  GCM's tag; associated data: "OVKEYS\r\n", 0, 1, the identity, bytes 0..<16
//    76   2  number of bytes that follow
//    78   …  paths of the files last seen under it: UTF-8, a zero after each
//   end, 64 bytes
//     0  32  HMAC-SHA256 of all before, under HKDF(data key, salt: identity, info:
//            "ObjectVault key file MAC 1")
//    32  32  SHA-256 of all before: distinguishes damage from a wrong secret
//
// The key that encrypts a slot's copy: scrypt(passphrase, salt) for kind 1, HKDF-SHA256(secret, salt,
// info: "ObjectVault key file slot 1") for the others, whose secrets are random already. The key that
// encrypts a former data key: HKDF-SHA256(data key, salt: identity, info: "ObjectVault key file former
// key 1").

private import Foundation

/// The content of a key file, parsed and not yet authenticated.
struct KeyFileFormat: Equatable {
  struct Slot: Equatable {
    var kind: KeyFile.SlotKind
    var name: String
    var work: ScryptWork?
    var salt: [UInt8]
    var nonce: [UInt8]
    var sealed: [UInt8]
  }

  /// Whether a rotation of the data key is in progress.
  enum Rotation: Equatable {
    /// There is none.
    case none
    /// A rotation is running, or was interrupted. These slots have the new key, which the database may or
    /// may not have already: only trying the keys on the database shows which.
    case pending([Slot])

    var slots: [Slot] { if case .pending(let slots) = self { slots } else { [] } }
    var isPending: Bool { if case .pending = self { true } else { false } }
  }

  static let magic = Array("OVKEYS\r\n".utf8)
  static let versions: ClosedRange<UInt16> = 1...2
  /// The start of the associated data of every encrypted key: the magic number, and the version of that
  /// encryption, which is 1 in all versions of the file.
  static let sealedHead = magic + [0, 1]
  static let headerBytes = 48
  static let slotBytes = 176
  static let maximumSlots = 32

  /// The largest size of a key file in bytes.
  static let maximumBytes =
    headerBytes + 2 * maximumSlots * slotBytes + FormerDataKey.maximumCount * FormerDataKey.maximumBytes + 64

  var identity: [UInt8]
  /// How often the file was written.
  var revision: UInt64 = 0
  /// The number of the present data key, counted from 1.
  var number: UInt64 = 1
  /// The former data keys, the oldest first.
  var formerKeys: [FormerDataKey] = []
  /// The slots of the present data key, which during a rotation is the old one.
  var slots: [Slot] = []
  var rotation = Rotation.none

  // MARK: Writing

  /// The bytes that the MAC covers.
  var body: [UInt8] {
    var bytes = Self.magic
    let hasHistory = number > 1 || !formerKeys.isEmpty
    bytes += UInt16(hasHistory ? 2 : 1).bytes
    bytes += [UInt8(slots.count), UInt8(rotation.slots.count), UInt8(formerKeys.count), 0, 0, 0]
    bytes += identity + revision.bytes + UInt64(hasHistory ? number : 0).bytes
    for slot in slots + rotation.slots { bytes += encoded(slot) }
    for former in formerKeys { bytes += former.encoded }
    return bytes
  }

  func associated(_ slot: Slot) -> [UInt8] {
    var head = Array(encoded(slot).prefix(48))
    // The name's length is excluded, so that a slot can be renamed without its secret. The file's MAC
    // covers the name.
    head[1] = 0
    return Self.sealedHead + identity + head
  }

  private func encoded(_ slot: Slot) -> [UInt8] {
    var bytes = [slot.kind.rawValue, UInt8(slot.name.utf8.count), 0, 0, UInt8(slot.work?.logN ?? 0), 0, 0, 0]
    bytes += UInt32(slot.work?.r ?? 0).bytes + UInt32(slot.work?.p ?? 0).bytes
    bytes += slot.salt + slot.nonce + slot.sealed + Array(slot.name.utf8)
    return bytes + [UInt8](repeating: 0, count: Self.slotBytes - bytes.count)
  }

  static func macKey(_ dataKey: SecureBytes, identity: [UInt8]) throws -> SecureBytes {
    try unsafe dataKey.withBytes {
      try unsafe Primitives.hkdf($0, salt: identity, info: Array("ObjectVault key file MAC 1".utf8))
    }
  }

  func file(dataKey: SecureBytes) throws -> [UInt8] {
    let body = body
    let signed = body + Primitives.hmac(body, key: try Self.macKey(dataKey, identity: identity))
    return signed + Primitives.sha256(signed)
  }

  // MARK: Reading

  /// Whether the file's MAC is correct for this data key.
  static func isAuthentic(_ file: [UInt8], dataKey: SecureBytes, identity: [UInt8]) throws -> Bool {
    let body = Array(file.dropLast(64))
    let mac = Primitives.hmac(body, key: try macKey(dataKey, identity: identity))
    return Primitives.areEqual(mac, and: Array(file.dropLast(32).suffix(32)))
  }

  /// Parses the bytes of a key file, and verifies its checksum.
  /// - Throws: ``SQLError/keyFileDamaged(file:reason:)``.
  init(_ file: [UInt8], path: String) throws(SQLError) {
    func damaged(_ reason: String) -> SQLError { .keyFileDamaged(file: path, reason: reason) }
    guard file.starts(with: Self.magic) else { throw damaged("it does not begin as a key file does") }
    guard file.count >= Self.headerBytes + 64 else {
      throw damaged("it has only \(counted(file.count, "byte"))")
    }
    let found = UInt16(file[8]) << 8 | UInt16(file[9])
    guard Self.versions.contains(found) else {
      throw damaged(
        "it has format \(found), but this program reads only the formats 1 and 2; update the program")
    }
    let (count, pendingCount, formerCount) = (Int(file[10]), Int(file[11]), Int(file[12]))
    let slotsEnd = Self.headerBytes + (count + pendingCount) * Self.slotBytes
    guard (1...Self.maximumSlots).contains(count), pendingCount <= Self.maximumSlots,
      formerCount <= FormerDataKey.maximumCount, file.count >= slotsEnd + 64
    else { throw damaged("its size of \(counted(file.count, "byte")) does not match its slots") }
    guard Primitives.areEqual(Primitives.sha256(Array(file.dropLast(32))), and: Array(file.suffix(32))) else {
      throw damaged("its checksum does not match")
    }
    identity = Array(file[16..<32])
    revision = UInt64(bigEndian: Array(file[32..<40]))
    number = max(1, UInt64(bigEndian: Array(file[40..<48])))
    var all: [Slot] = []
    for index in 0..<count + pendingCount {
      let start = Self.headerBytes + index * Self.slotBytes
      guard let slot = Self.slot(Array(file[start..<start + Self.slotBytes])) else {
        throw damaged("slot \(index + 1) is invalid")
      }
      all.append(slot)
    }
    slots = Array(all.prefix(count))
    rotation = pendingCount == 0 ? .none : .pending(Array(all.dropFirst(count)))
    var rest = file[slotsEnd..<file.count - 64]
    for index in 0..<formerCount {
      guard let former = FormerDataKey(rest) else {
        throw damaged("former data key \(index + 1) is invalid")
      }
      formerKeys.append(former)
      rest = rest.dropFirst(former.encoded.count)
    }
    guard rest.isEmpty else { throw damaged("it is \(counted(rest.count, "byte")) too long") }
  }

  init(identity: [UInt8]) { self.identity = identity }

  private static func slot(_ bytes: [UInt8]) -> Slot? {
    func number(_ at: Int) -> Int { bytes[at..<at + 4].reduce(0) { $0 << 8 | Int($1) } }
    let length = Int(bytes[1])
    guard let kind = KeyFile.SlotKind(rawValue: bytes[0]), (1...64).contains(length),
      let name = String(validating: bytes[108..<108 + length], as: UTF8.self)
    else { return nil }
    // The ranges are checked: a planted cost would make opening the file take all memory.
    let work = ScryptWork(logN: Int(bytes[4]), r: number(8), p: number(12))
    guard (kind == .passphrase) == (work != nil) else { return nil }
    return Slot(
      kind: kind, name: name, work: work, salt: Array(bytes[16..<48]), nonce: Array(bytes[48..<60]),
      sealed: Array(bytes[60..<108]))
  }
}

extension FixedWidthInteger where Self: UnsignedInteger {
  /// The bytes, the highest first.
  var bytes: [UInt8] {
    (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
  }

  /// Decodes a number from its bytes, the highest first.
  init(bigEndian bytes: [UInt8]) { self = bytes.reduce(0) { $0 << 8 | Self($1) } }
}
