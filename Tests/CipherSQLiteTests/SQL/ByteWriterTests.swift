// Values in the compact form of bytes: each is read back bit by bit, and any other bytes are an error.

import CipherSQLite
import Foundation
import Testing

@Suite(.tags(.pure)) struct ByteWriters {
  private static let values: [SQLValue] =
    [.null, .text(""), .text("a\0b"), .blob(Data()), .blob(Data([0, 255])), .text("e\u{301}é陳")]
    + [Int64.min, -1, 0, 1, 127, 128, 239, 240, 1 << 40, Int64.max].map { .integer($0) }
    + [
      0.0, -0.0, 0.1, -0.3, 1.5, 599.99, 1e15, 1e16, 1e300, Double.leastNonzeroMagnitude, .infinity,
      -.infinity, 0.1 + 0.2, 1 / 3.0,
      800_000_000.25, 12_345.678_9, -99.95, 4_503_599_627_370_497.5,
    ].map { .real($0) }
    + [111, 112, 200, 70_000].map { .text(String(repeating: "x", count: $0)) }

  private func bits(_ value: SQLValue) -> String {
    if case .real(let real) = value { "real \(real.bitPattern)" } else { "\(value)" }
  }

  @Test func `values are read back as they were written`() throws {
    var writer = ByteWriter()
    for value in Self.values { writer.put(value) }
    var reader = ByteReader(writer.bytes)
    for value in Self.values { #expect(try bits(reader.value()) == bits(value)) }
    #expect(reader.isAtEnd)
  }

  @Test func `random reals are read back with the same bits`() throws {
    let seed = UInt64.random(in: 0...9999)
    var random = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let real: Double =
        switch Int.random(in: 0..<4, using: &random) {
        case 0: Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random))
        case 1: Double(Int.random(in: -1_000_000...1_000_000, using: &random)) / 100
        case 2: Double(Int.random(in: -1_000_000_000...1_000_000_000, using: &random)) / 10_000
        default: Double.random(in: -1e12...1e12, using: &random)
        }
      guard !real.isNaN else { continue }
      var writer = ByteWriter()
      writer.put(.real(real))
      var reader = ByteReader(writer.bytes)
      #expect(try bits(reader.value()) == bits(.real(real)), "seed \(seed)")
    }
  }

  @Test func `numbers of all sizes are read back`() throws {
    var writer = ByteWriter()
    let numbers = (0..<64).flatMap { [UInt64(1) << $0, (UInt64(1) << $0) &- 1] } + [UInt64.max]
    for number in numbers {
      writer.put(unsigned: number)
      writer.put(signed: Int64(bitPattern: number))
    }
    var reader = ByteReader(writer.bytes)
    for number in numbers {
      #expect(try reader.unsigned() == number)
      #expect(try reader.signed() == Int64(bitPattern: number))
    }
  }

  @Test func `any bytes are values or an error, and never a crash`() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0..<40, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      var reader = ByteReader(bytes)
      while !reader.isAtEnd { if (try? reader.value()) == nil { break } }
      reader = ByteReader(bytes)
      while !reader.isAtEnd { if (try? reader.unsigned()) == nil { break } }
    }
    for bytes: [UInt8] in [
      [3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], [2, 1], [1], [4, 9], [10], [255, 1],
    ] {
      #expect(throws: ByteReader.Malformed.self) {
        var reader = ByteReader(bytes)
        _ = try reader.value()
      }
    }
  }
}
