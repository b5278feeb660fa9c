// Reads a database's write-ahead log without the engine and without a key: how far it is valid, and its
// last commit. Which key a page is under is determined page by page, by callers that have candidate keys.
// The format is SQLite's "WAL-mode File Format": a header of 32 bytes, then frames of 24 bytes and a
// page, each with a checksum over everything before it.

private import Foundation

/// The log as it was when it was read. A log without a valid commit counts as absent.
struct WriteAheadLog {
  /// The first bytes of a log; the two values differ in the byte order of its checksums.
  static let magics: [[UInt8]] = [[0x37, 0x7F, 0x06, 0x82], [0x37, 0x7F, 0x06, 0x83]]
  private static let headerBytes = 32
  private static let frameHeaderBytes = 24

  /// The page size in bytes, as the log states it.
  let pageBytes: Int
  /// Bytes from the start of the log to the end of its last commit: the part that the engine reads.
  let validBytes: Int
  /// The last page that the last commit wrote, encrypted, and its number.
  let lastPage: (number: Int, bytes: [UInt8])
  /// The numbers of the pages that were committed to the log. The engine ignores the file's own versions
  /// of them.
  let pages: Set<Int>

  /// Returns the header of a log, which is different for each log; nil where the engine would not accept
  /// it as a log.
  static func header(of log: CompanionFile?) -> [UInt8]? {
    guard let header = log?.read(headerBytes, at: 0), magics.contains(where: header.starts(with:)),
      checksum(of: header).equals(header[24..<32])
    else { return nil }
    return header
  }

  private static func checksum(of header: [UInt8]) -> Checksum {
    // The lowest bit of the magic number is the byte order in which the checksum's words are read.
    var sum = Checksum(isBigEndian: CompanionFile.number(header[0..<4]) & 1 == 1)
    sum.add(header[0..<24])
    return sum
  }

  /// Returns the first page of a log, encrypted, and its number; nil when there is no log, or the engine
  /// would not accept its first frame.
  static func firstPage(beside file: DatabasePath) -> (number: Int, bytes: [UInt8])? {
    guard let log = CompanionFile(file.log), let header = Self.header(of: log) else { return nil }
    let pageBytes = CompanionFile.number(header[8..<12])
    guard CipherProfile.pageSizes.contains(pageBytes) || pageBytes == 512,
      let frame = log.read(frameHeaderBytes + pageBytes, at: headerBytes),
      frame[8..<16].elementsEqual(header[16..<24])
    else { return nil }
    var sum = checksum(of: header)
    sum.add(frame[0..<8])
    sum.add(frame[frameHeaderBytes...])
    guard sum.equals(frame[16..<24]) else { return nil }
    return (CompanionFile.number(frame[0..<4]), Array(frame.dropFirst(frameHeaderBytes)))
  }

  /// Reads the log of a database; nil when there is none, or its checksums prove no commit in it.
  init?(beside file: DatabasePath) {
    guard let log = CompanionFile(file.log), let header = Self.header(of: log) else { return nil }
    var sum = Self.checksum(of: header)
    let pageBytes = CompanionFile.number(header[8..<12])
    guard CipherProfile.pageSizes.contains(pageBytes) || pageBytes == 512 else { return nil }

    let frameBytes = Self.frameHeaderBytes + pageBytes
    let framesAtOnce = max(1, (1 << 20) / frameBytes)
    var (offset, commitEnd) = (Self.headerBytes, 0)
    var last: Int?
    var (committed, written): (Set<Int>, Set<Int>) = ([], [])
    reading: while true {
      let chunk = log.readUp(to: framesAtOnce * frameBytes, at: offset)
      for start in stride(from: 0, to: chunk.count - frameBytes + 1, by: frameBytes) {
        let frame = chunk[start..<(start + frameBytes)]
        // Frames of this log have its salts; the frames after them are of earlier logs.
        guard frame[(start + 8)..<(start + 16)].elementsEqual(header[16..<24]) else { break reading }
        sum.add(frame[start..<(start + 8)])
        sum.add(frame[(start + Self.frameHeaderBytes)...])
        guard sum.equals(frame[(start + 16)..<(start + 24)]) else { break reading }
        written.insert(CompanionFile.number(frame[start..<(start + 4)]))
        // The last frame of a commit states the size of the database after it; in other frames the field
        // is 0.
        if CompanionFile.number(frame[(start + 4)..<(start + 8)]) != 0 {
          (last, commitEnd) = (offset + start, offset + start + frameBytes)
          committed.formUnion(written)
          written.removeAll()
        }
      }
      guard chunk.count == framesAtOnce * frameBytes else { break }
      offset += chunk.count
    }
    guard let last, let frame = log.read(frameBytes, at: last) else { return nil }
    self.pageBytes = pageBytes
    validBytes = commitEnd
    lastPage = (CompanionFile.number(frame[0..<4]), Array(frame.dropFirst(Self.frameHeaderBytes)))
    pages = committed
  }
}

/// The running checksum of a log.
private struct Checksum {
  let isBigEndian: Bool
  private var (first, second): (UInt32, UInt32) = (0, 0)

  init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

  /// Adds bytes to the checksum.
  /// - Parameter bytes: A multiple of 8.
  mutating func add(_ bytes: ArraySlice<UInt8>) {
    unsafe bytes.withUnsafeBytes { bytes in
      for offset in stride(from: 0, to: bytes.count - 7, by: 8) {
        first = unsafe first &+ word(bytes, offset) &+ second
        second = unsafe second &+ word(bytes, offset + 4) &+ first
      }
    }
  }

  private func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
    let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
    return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
  }

  /// Whether the checksum equals a stored one. Stored checksums always have the highest byte first.
  func equals(_ stored: ArraySlice<UInt8>) -> Bool {
    CompanionFile.number(stored.prefix(4)) == Int(first)
      && CompanionFile.number(stored.suffix(4)) == Int(second)
  }
}
