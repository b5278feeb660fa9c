// Decompresses deflate data (RFC 1951), the form in which Core Data stores its model. Implemented in
// Swift, because that is short, can limit the size of the output, and avoids a third system library as a
// dependency.

internal import ObjectVault

/// A reader of a deflate stream.
struct Inflation {
  private struct Broken: Error {}

  /// The Huffman codes of one alphabet: the number of codes of each length, and the symbols in the order
  /// of length and value.
  private struct Codes {
    var counts = [Int](repeating: 0, count: 16)
    var symbols: [Int] = []

    init(lengths: [Int]) {
      for length in lengths { counts[length] += 1 }
      counts[0] = 0
      for length in 1...15 {
        symbols += lengths.indices.filter { lengths[$0] == length }
      }
    }
  }

  private let input: [UInt8]
  private let limit: Int
  private var next: Int
  private var bits = 0
  private var bitCount = 0
  private var output: [UInt8] = []

  private init(_ input: [UInt8], from start: Int, limit: Int) {
    (self.input, next, self.limit) = (input, start, limit)
  }

  /// Returns the decompressed bytes of a stream, with or without zlib's header of two bytes.
  /// - Parameter limit: The maximum number of bytes.
  /// - Returns: nil for an invalid stream, or for one with more bytes.
  static func inflated(_ bytes: [UInt8], limit: Int) -> [UInt8]? {
    for start in [0, 2] {
      var inflation = Inflation(bytes, from: start, limit: limit)
      if let output = try? inflation.run() { return output }
    }
    return nil
  }

  private mutating func run() throws -> [UInt8] {
    var isLast = false
    while !isLast {
      isLast = try take(1) == 1
      switch try take(2) {
      case 0: try stored()
      case 1: try packed(literals: Self.fixed, distances: Self.fixedDistances)
      case 2:
        let (literals, distances) = try codes()
        try packed(literals: literals, distances: distances)
      default: throw Broken()
      }
    }
    return output
  }

  // MARK: Bits

  private mutating func take(_ count: Int) throws -> Int {
    while bitCount < count {
      guard next < input.count else { throw Broken() }
      bits |= Int(input[next]) << bitCount
      next += 1
      bitCount += 8
    }
    let value = bits & ((1 << count) - 1)
    bits >>= count
    bitCount -= count
    return value
  }

  /// Decodes the next symbol. The codes of one length are consecutive numbers; the first code of the next
  /// length is the number after them, with a 0 bit appended. In the loop, `first` is the first code of
  /// the present length, and `index` is the place of its symbol in `symbols`.
  private mutating func symbol(_ codes: Codes) throws -> Int {
    var (code, first, index) = (0, 0, 0)
    for length in 1...15 {
      code |= try take(1)
      let count = codes.counts[length]
      if code - count < first {
        let place = index + code - first
        guard codes.symbols.indices.contains(place) else { throw Broken() }
        return codes.symbols[place]
      }
      index += count
      first = (first + count) << 1
      code <<= 1
    }
    throw Broken()
  }

  // MARK: Blocks

  private mutating func stored() throws {
    // A stored block begins at a byte boundary: the remaining bits of the last byte are discarded, and no
    // whole byte was read ahead.
    (bits, bitCount) = (0, 0)
    guard next + 4 <= input.count else { throw Broken() }
    let length = Int(input[next]) | Int(input[next + 1]) << 8
    guard length == ~(Int(input[next + 2]) | Int(input[next + 3]) << 8) & 0xFFFF else { throw Broken() }
    next += 4
    guard next + length <= input.count, output.count + length <= limit else { throw Broken() }
    output += input[next..<next + length]
    next += length
  }

  private mutating func packed(literals: Codes, distances: Codes) throws {
    while true {
      let symbol = try symbol(literals)
      guard symbol != 256 else { return }
      if symbol < 256 {
        guard output.count < limit else { throw Broken() }
        output.append(UInt8(symbol))
        continue
      }
      guard symbol - 257 < Self.lengths.count else { throw Broken() }
      let length = try Self.lengths[symbol - 257].base + take(Self.lengths[symbol - 257].extra)
      let code = try self.symbol(distances)
      guard code < Self.distances.count else { throw Broken() }
      let distance = try Self.distances[code].base + take(Self.distances[code].extra)
      guard distance <= output.count, output.count + length <= limit else { throw Broken() }
      // Byte by byte: the source may overlap the bytes that are being written.
      for _ in 0..<length { output.append(output[output.count - distance]) }
    }
  }

  /// Reads the codes of a block with dynamic codes.
  private mutating func codes() throws -> (literals: Codes, distances: Codes) {
    let (literals, distances) = (try take(5) + 257, try take(5) + 1)
    var lengths = [Int](repeating: 0, count: 19)
    for place in Self.order.prefix(try take(4) + 4) { lengths[place] = try take(3) }
    let own = Codes(lengths: lengths)
    lengths = []
    while lengths.count < literals + distances {
      let symbol = try symbol(own)
      switch symbol {
      case 0..<16: lengths.append(symbol)
      case 16:
        guard let last = lengths.last else { throw Broken() }
        lengths += Array(repeating: last, count: try 3 + take(2))
      case 17: lengths += Array(repeating: 0, count: try 3 + take(3))
      default: lengths += Array(repeating: 0, count: try 11 + take(7))
      }
    }
    guard lengths.count == literals + distances else { throw Broken() }
    return (Codes(lengths: Array(lengths[..<literals])), Codes(lengths: Array(lengths[literals...])))
  }

  // MARK: Tables of the format

  private static let fixed = Codes(
    lengths: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
  private static let fixedDistances = Codes(lengths: Array(repeating: 5, count: 30))
  /// The order in which a block lists the lengths of the code length codes.
  private static let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]
  private static let lengths: [(base: Int, extra: Int)] =
    (3...10).map { ($0, 0) }
    + [
      (11, 1), (13, 1), (15, 1), (17, 1), (19, 2), (23, 2), (27, 2), (31, 2), (35, 3), (43, 3), (51, 3),
      (59, 3), (67, 4), (83, 4), (99, 4), (115, 4), (131, 5), (163, 5), (195, 5), (227, 5), (258, 0),
    ]
  private static let distances: [(base: Int, extra: Int)] =
    (1...4).map { ($0, 0) } + (1...13).flatMap { [(2 << $0 + 1, $0), (3 << $0 + 1, $0)] }
}
