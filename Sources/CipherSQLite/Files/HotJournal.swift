// What a file's rollback journal will put back. A process that died within a transaction leaves a journal, and the next
// one that opens the file copies the former pages from it before it reads. Where the transaction was a rekey, the
// file's own first page may be under the new key already, while the one that counts is in the journal, under the old.
// The format is that of SQLite's "Database File Format", section 3, "The Rollback Journal".

enum HotJournal {
  private static let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]

  /// The first page as the journal beside a file will put it back; nil where it holds none.
  static func firstPage(of file: DatabasePath) -> [UInt8]? {
    guard let journal = SideFile(file.journal) else { return nil }
    var offset = 0
    // A journal that was synced several times has as many headers, each with the count of its records.
    while let header = journal.read(28, at: offset), header.starts(with: magic) {
      let (count, sectorBytes, pageBytes) = (
        SideFile.number(header[8..<12]), SideFile.number(header[20..<24]), SideFile.number(header[24..<28])
      )
      guard CipherProfile.pageSizes.contains(pageBytes), (28...65_536).contains(sectorBytes) else {
        return nil
      }
      var record = offset + sectorBytes
      let recordBytes = 8 + pageBytes
      // 2^32 - 1: up to the end of the file. None: what follows was not synced, and will not be put back.
      for _ in 0..<count {
        guard let page = journal.read(4, at: record) else { return nil }
        // Where the engine stops, too: behind it there is nothing, or a hole of any size.
        guard SideFile.number(page[...]) != 0 else { return nil }
        if SideFile.number(page[...]) == 1 { return journal.read(pageBytes, at: record + 4) }
        record += recordBytes
      }
      let next = (record + sectorBytes - 1) / sectorBytes * sectorBytes
      guard count > 0, next > offset else { return nil }
      offset = next
    }
    return nil
  }
}
