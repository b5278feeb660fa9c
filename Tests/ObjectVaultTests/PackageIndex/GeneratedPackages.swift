// A package index that is the same on every machine. It has the shape of Debian's index and more of its
// special cases: repeated paragraphs, several versions of a package, dependencies on missing packages,
// and missing fields.

import Foundation

enum GeneratedPackages {
  /// Returns the text of an index.
  /// - Parameter count: The number of paragraphs.
  static func text(_ count: Int) -> Data {
    var generator = Generator(count: count)
    return generator.text()
  }
}

/// SplitMix64: the same numbers on every machine.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}

private struct Generator {
  let count: Int
  var numbers = SeededNumbers(seed: 2025)
  private var out = ""
  private var last: [String] = []

  init(count: Int) { self.count = count }

  private static let hubs = ["libc6", "libstdc++6", "python3", "perl", "zlib1g", "debconf", "libgcc-s1"]
  private static let words = [
    "amber", "basalt", "cedar", "delta", "ember", "fjord", "garnet", "harbor", "iris", "juniper", "kelp",
    "lotus", "maple", "nectar", "onyx", "pebble", "quartz", "raven", "sorrel", "tundra",
  ]
  private static let sections = [
    "libs", "libs", "libdevel", "python", "perl", "doc", "utils", "games", "contrib/libs", "non-free/doc",
    "non-free/libs", "science",
  ]
  private static let priorities = [
    "optional", "optional", "optional", "standard", "important", "required", "extra",
  ]
  private static let tags = [
    "role::program", "role::shared-lib", "implemented-in::c", "implemented-in::python",
    "interface::graphical",
    "interface::commandline", "devel::library", "use::viewing", "works-with::text", "scope::utility",
    "special::auto-inst-parts", "x11::application",
  ]
  private static let people = [
    "Ann O'Neill <ann@lists.debian.org>", "Jürgen Groß <jg@debian.org>", "王小明 <wang@example.org>",
    "\"Team, Quoted\" <team@lists.debian.org>", "nobody@example.org", "Zoë 🦊 Fox <zoe@lists.debian.org>",
  ]

  private mutating func below(_ bound: Int) -> Int { Int(numbers.next() % UInt64(bound)) }
  private mutating func one(of list: [String]) -> String { list[below(list.count)] }
  private mutating func chance(_ percent: Int) -> Bool { below(100) < percent }

  private func name(_ index: Int) -> String {
    if index < Self.hubs.count { return Self.hubs[index] }
    let word = Self.words[index % Self.words.count]
    return switch index % 4 {
    case 0: "lib\(word)\(index)"
    case 1: "lib\(word)\(index - 1)-dev"
    case 2: "\(word)-tools\(index)"
    default: "python3-\(word)\(index)+dfsg"
    }
  }

  mutating func text() -> Data {
    out.reserveCapacity(count * 900)
    var index = 0
    for number in 0..<count {
      // Every 90th paragraph repeats the one before, and every 40th is another version of its package.
      if number > 0, number % 90 == 0 {
        out += last.joined(separator: "\n") + "\n\n"
        continue
      }
      if number % 40 != 39 { index += 1 }
      last = paragraph(index - 1, version: number)
      out += last.joined(separator: "\n") + "\n\n"
    }
    return Data(out.utf8)
  }

  private mutating func paragraph(_ index: Int, version: Int) -> [String] {
    var lines = ["Package: \(name(index))"]
    if chance(40) { lines.append("Source: source-\(index)") }
    lines.append(
      "Version: \(chance(10) ? "1:" : "")\(below(9)).\(version)\(chance(20) ? "~rc1" : "")-\(below(5))")
    if !chance(3) { lines.append("Installed-Size: \(below(60_000) + (chance(1) ? 3_000_000 : 0))") }
    lines.append("Maintainer: \(maintainer())")
    lines.append("Architecture: \(chance(45) ? "all" : "amd64")")
    if chance(88) { lines.append("Depends: \(needs(groups: below(8) + 1, of: index))") }
    if chance(3) { lines.append("Pre-Depends: \(needs(groups: 1, of: index))") }
    if chance(16) { lines.append("Recommends: \(needs(groups: below(3) + 1, of: index))") }
    if chance(16) { lines.append("Suggests: \(needs(groups: below(4) + 1, of: index))") }
    let word = one(of: Self.words)
    lines.append(
      "Description: \(word.capitalized) for \(chance(5) ? "GTK+" : "the rest") of us (100% \"free\")")
    if chance(93) {
      let host = chance(40) ? "https://github.com" : "http://www.example.org"
      lines.append("Homepage: \(host)/\(word)/\(index)?a=\(below(9))&b=%20#top")
    }
    if chance(45) { lines += tagLines() }
    lines.append("Section: \(one(of: Self.sections))")
    lines.append("Priority: \(one(of: Self.priorities))")
    lines.append("Size: \(below(9_000_000))")
    if !chance(5) { lines.append("MD5sum: \(hex())\(hex())") }
    return lines
  }

  private mutating func hex() -> String {
    let text = String(numbers.next(), radix: 16)
    return String(repeating: "0", count: 16 - text.count) + text
  }

  private mutating func maintainer() -> String {
    chance(20) ? one(of: Self.people) : "Team \(below(max(1, count / 30))) <team\(below(7))@lists.debian.org>"
  }

  private mutating func tagLines() -> [String] {
    // A tag may occur more than once in a field. Long fields continue in a second line.
    let some = (0...below(9)).map { _ in one(of: Self.tags) }
    let half = some.count / 2
    guard half > 1 else { return ["Tag: \(some.joined(separator: ", "))"] }
    return [
      "Tag: \(some[..<half].joined(separator: ", ")),", " \(some[half...].joined(separator: ", "))",
    ]
  }

  private mutating func needs(groups: Int, of index: Int) -> String {
    (0..<groups).map { _ in
      (0..<(chance(8) ? 2 + below(2) : 1)).map { _ in need(index) }.joined(separator: " | ")
    }.joined(separator: ", ")
  }

  private mutating func need(_ index: Int) -> String {
    var text: String
    switch below(100) {
    case 0..<35: text = one(of: Self.hubs)
    case 35..<38: text = "virtual-\(one(of: Self.words))"
    case 38: text = name(index)
    default: text = name(below(count))
    }
    if chance(4) { text += ":any" }
    if chance(55) {
      text += " (\(one(of: [">=", ">=", ">=", "=", "<<", "<=", ">>"])) \(below(9)).\(below(40))~)"
    }
    return text
  }
}
