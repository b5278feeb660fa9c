// Reads a package index paragraph by paragraph. Nothing of it is kept: values are slices of a buffer that
// is reused.

import Foundation

/// A part of a line, valid until the next paragraph is read.
typealias Slice = UnsafeRawBufferPointer

/// The fields that are read.
enum PackageField: Int, CaseIterable {
  case package, version, architecture, maintainer, installedSize, depends, preDepends, recommends, suggests
  case description, homepage, tag, section, priority, size, digest

  private static let names: [StaticString] = [
    "Package", "Version", "Architecture", "Maintainer", "Installed-Size", "Depends", "Pre-Depends",
    "Recommends",
    "Suggests", "Description", "Homepage", "Tag", "Section", "Priority", "Size", "MD5sum",
  ]

  /// The fields by the length of their names, because each line of an index is looked up here.
  private static let byLength: [[(field: PackageField, name: StaticString)]] = (0...16).map { length in
    zip(allCases, names).filter { $0.1.utf8CodeUnitCount == length }.map { ($0, $1) }
  }

  /// Creates the field with this name; nil for the name of any other field.
  init?(_ name: Slice) {
    guard let start = name.baseAddress, name.count < Self.byLength.count else { return nil }
    for (field, known) in Self.byLength[name.count]
    where memcmp(known.utf8Start, start, name.count) == 0 {
      self = field
      return
    }
    return nil
  }
}

/// One version of a package, as the index describes it.
struct PackageParagraph {
  private var values = [Slice?](repeating: nil, count: PackageField.allCases.count)
  /// The field of the last line; nil if that field is not read.
  private var current: PackageField?
  private var isEmpty = true

  subscript(_ field: PackageField) -> Slice? { values[field.rawValue] }
  func text(_ field: PackageField) -> String? { values[field.rawValue].map { $0.text } }
  func number(_ field: PackageField) -> Int? { text(field).flatMap { Int($0) } }

  /// Adds a line.
  private mutating func add(_ line: Slice) {
    guard let first = line.first, first != UInt8(ascii: " "), first != UInt8(ascii: "\t") else {
      // A continuation line extends the value of the line before it; the line break stays between them.
      if let field = current, let start = values[field.rawValue]?.baseAddress, let end = line.end {
        values[field.rawValue] = Slice(start: start, count: end - start)
      }
      return
    }
    guard let colon = line.place(of: UInt8(ascii: ":")) else { return }
    current = PackageField(Slice(rebasing: line[..<colon]))
    guard let current else { return }
    values[current.rawValue] = Slice(rebasing: line[(colon + 1)...]).trimmed
    isEmpty = false
  }

  private mutating func clear() {
    guard !isEmpty || current != nil else { return }
    for place in values.indices { values[place] = nil }
    (current, isEmpty) = (nil, true)
  }

  /// Calls `body` for each paragraph of a file.
  static func forEach(in path: String, _ body: (PackageParagraph) throws -> Void) throws {
    guard let file = fopen(path, "r") else { throw CocoaError(.fileReadNoSuchFile) }
    defer { fclose(file) }
    // No buffer of the C library: the file is read directly into the one below.
    setvbuf(file, nil, _IONBF, 0)
    var paragraph = PackageParagraph()
    var buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 16)
    defer { buffer.deallocate() }
    // The number of bytes of an incomplete paragraph at the beginning of the buffer.
    var rest = 0
    while let base = buffer.baseAddress {
      let count = fread(base + rest, 1, buffer.count - rest, file)
      let bytes = Slice(start: base, count: rest + count)
      let used = try paragraph.take(bytes, body)
      if count == 0 {
        // The last paragraph, if no empty line follows it.
        if used < bytes.count {
          Slice(rebasing: bytes[used...]).forEachPart(of: UInt8(ascii: "\n")) { paragraph.add($0) }
          if !paragraph.isEmpty { try body(paragraph) }
        }
        return
      }
      rest = bytes.count - used
      memmove(base, base + used, rest)
      guard rest == buffer.count else { continue }
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: rest * 2, alignment: 16)
      larger.copyMemory(from: Slice(buffer))
      buffer.deallocate()
      buffer = larger
    }
  }

  /// Calls `body` for each complete paragraph.
  /// - Returns: The number of bytes of these paragraphs.
  private mutating func take(_ bytes: Slice, _ body: (PackageParagraph) throws -> Void) throws -> Int {
    var (start, line) = (0, 0)
    clear()
    while let base = bytes.baseAddress, let found = memchr(base + line, 10, bytes.count - line) {
      let end = UnsafeRawPointer(found) - base
      if end == line {
        if !isEmpty { try body(self) }
        clear()
        start = end + 1
      } else {
        add(Slice(start: base + line, count: end - line))
      }
      line = end + 1
    }
    clear()
    return start
  }
}

extension PackageParagraph {
  /// One alternative of one need.
  struct Need {
    let group: Int
    let position: Int
    let name: Slice
    let qualifier: Slice?
    let comparison: Slice?
    let bound: Slice?

    /// - Parameter text: `name:any (>= 1.0)`, all but the name optional.
    fileprivate init(_ text: Slice, _ group: Int, _ position: Int) {
      (self.group, self.position) = (group, position)
      let bracket = text.place(of: UInt8(ascii: "("))
      let whole = Slice(rebasing: text[..<(bracket ?? text.count)])
      let colon = whole.place(of: UInt8(ascii: ":"))
      name = Slice(rebasing: whole[..<(colon ?? whole.count)]).trimmed
      qualifier = colon.map { Slice(rebasing: whole[($0 + 1)...]).trimmed }
      guard let bracket else {
        (comparison, bound) = (nil, nil)
        return
      }
      let close = text.place(of: UInt8(ascii: ")")) ?? text.count
      let inside = Slice(rebasing: text[(bracket + 1)..<close]).trimmed
      let signs = inside.prefix { (UInt8(ascii: "<")...UInt8(ascii: ">")).contains($0) }.count
      comparison = Slice(rebasing: inside[..<signs])
      bound = Slice(rebasing: inside[signs...]).trimmed
    }
  }

  /// Calls `body` for each alternative of each need of a field.
  func forEachNeed(_ field: PackageField, _ body: (Need) -> Void) {
    var group = 0
    self[field]?.forEachPart(of: UInt8(ascii: ",")) { alternatives in
      var position = 0
      alternatives.forEachPart(of: UInt8(ascii: "|")) { text in
        body(Need(text, group, position))
        position += 1
      }
      group += 1
    }
  }

  /// Calls `body` for each tag.
  func forEachTag(_ body: (Slice) -> Void) {
    self[.tag]?.forEachPart(of: UInt8(ascii: ",")) { part in
      part.forEachPart(of: UInt8(ascii: "\n")) { if !$0.trimmed.isEmpty { body($0.trimmed) } }
    }
  }
}

extension Slice {
  var text: String { String(decoding: self, as: UTF8.self) }
  fileprivate var end: UnsafeRawPointer? { baseAddress.map { $0 + count } }

  /// The slice without whitespace at both ends.
  fileprivate var trimmed: Slice {
    var (start, end) = (0, count)
    let isBlank = { (byte: UInt8) in byte == 32 || (9...13).contains(byte) }
    while start < end, isBlank(self[start]) { start += 1 }
    while start < end, isBlank(self[end - 1]) { end -= 1 }
    return Slice(rebasing: self[start..<end])
  }

  /// Returns the index of the first occurrence of a byte; nil if there is none.
  fileprivate func place(of byte: UInt8) -> Int? {
    guard let base = baseAddress, let found = memchr(base, Int32(byte), count) else { return nil }
    return UnsafeRawPointer(found) - base
  }

  /// Calls `body` for each part between separators.
  fileprivate func forEachPart(of separator: UInt8, _ body: (Slice) -> Void) {
    guard let base = baseAddress else { return }
    var start = 0
    while start <= count {
      let found = memchr(base + start, Int32(separator), count - start)
      let end = found.map { UnsafeRawPointer($0) - base } ?? count
      body(Slice(start: base + start, count: end - start))
      start = end + 1
    }
  }
}

extension UUID {
  /// Creates a UUID from 32 hexadecimal digits, the form of an MD5 sum; nil for any other text.
  init?(digits: Slice) {
    guard digits.count == 32 else { return nil }
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    let isWhole = withUnsafeMutableBytes(of: &bytes) { bytes in
      for place in 0..<16 {
        guard let high = Self.value(digits[place * 2]), let low = Self.value(digits[place * 2 + 1]) else {
          return false
        }
        bytes[place] = high << 4 | low
      }
      return true
    }
    guard isWhole else { return nil }
    self.init(uuid: bytes)
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
