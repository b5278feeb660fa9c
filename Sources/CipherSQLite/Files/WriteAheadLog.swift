// A database's write-ahead log, read without the engine and without a key: how far it is valid, and what its last
// commit is. Which key it is under is found out page by page, by whoever has candidates.
// The format is that of SQLite's "WAL-mode File Format": 32 bytes, then frames of 24 bytes and a page, each with a
// checksum over all that stands before it.

private import Foundation

/// The log as it was when it was read. A log without a commit is none.
struct WriteAheadLog {
  /// What a log begins with, one for each order of bytes in its checksums.
  static let magics: [[UInt8]] = [[0x37, 0x7F, 0x06, 0x82], [0x37, 0x7F, 0x06, 0x83]]
  private static let headerBytes = 32
  private static let frameHeaderBytes = 24

  /// Bytes of a page, as the log says.
  let pageBytes: Int
  /// Bytes from the begin of the log to the end of its last commit: what the engine takes into account.
  let validBytes: Int
  /// The page that the last commit wrote last, encrypted, and its number.
  let lastPage: (number: Int, bytes: [UInt8])
  /// The pages that were committed to the log: what the file itself holds of them does not count.
  let pages: Set<Int>

  /// The first bytes of a log, which no two logs have in common; nil where the engine takes it for none.
  static func header(of log: SideFile?) -> [UInt8]? {
    guard let header = log?.read(headerBytes, at: 0), magics.contains(where: header.starts(with:)),
      checksum(of: header).equals(header[24..<32])
    else { return nil }
    return header
  }

  private static func checksum(of header: [UInt8]) -> Checksum {
    // The lowest bit says in which byte order the words of the checksums are read.
    var sum = Checksum(isBigEndian: SideFile.number(header[0..<4]) & 1 == 1)
    sum.add(header[0..<24])
    return sum
  }

  /// nil when there is no log, or no commit in it that its checksums prove.
  init?(beside file: DatabasePath) {
    guard let log = SideFile(file.log), let header = Self.header(of: log) else { return nil }
    var sum = Self.checksum(of: header)
    let pageBytes = SideFile.number(header[8..<12])
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
        // Frames of this log have its salts; behind them lie those of logs before it.
        guard frame[(start + 8)..<(start + 16)].elementsEqual(header[16..<24]) else { break reading }
        sum.add(frame[start..<(start + 8)])
        sum.add(frame[(start + Self.frameHeaderBytes)...])
        guard sum.equals(frame[(start + 16)..<(start + 24)]) else { break reading }
        written.insert(SideFile.number(frame[start..<(start + 4)]))
        // The last frame of a commit says how large the database is then; in the others it is 0.
        if SideFile.number(frame[(start + 4)..<(start + 8)]) != 0 {
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
    lastPage = (SideFile.number(frame[0..<4]), Array(frame.dropFirst(Self.frameHeaderBytes)))
    pages = committed
  }
}

/// The log's running checksum.
private struct Checksum {
  let isBigEndian: Bool
  private var (first, second): (UInt32, UInt32) = (0, 0)

  init(isBigEndian: Bool) { self.isBigEndian = isBigEndian }

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

  /// The checksums themselves are always stored with the highest byte first.
  func equals(_ stored: ArraySlice<UInt8>) -> Bool {
    SideFile.number(stored.prefix(4)) == Int(first) && SideFile.number(stored.suffix(4)) == Int(second)
  }
}
