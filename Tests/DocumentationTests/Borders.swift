// Which files may name the C libraries, and memory that Swift does not manage: the second table of a
// module's page `architecture.md`, compared with its sources. Pure, like House.

/// The files of one module, and what each of them may name.
struct Borders {
  /// `| what | only in |`: for each library, and for pointers, the files or folders that may name it.
  private(set) var allowed: [String: Set<String>] = [:]
  private let uses: [(path: String, things: Set<String>)]

  static let libraries: Set<String> = ["CSQLCipher", "CLibCrypto", "CVaultShims"]

  /// - Parameters:
  ///   - sources: Paths in the module without `.swift`, and texts.
  ///   - page: The page with the table.
  init(_ sources: [(path: String, text: String)], page: String) {
    for line in page.split(separator: "\n") where line.hasPrefix("|") {
      let cells = line.split(separator: "|").map { $0.split(separator: "`").map(String.init) }
      guard cells.count == 2, let name = cells[0].first(where: { $0 != " " }) else { continue }
      let thing = name.split(separator: " ").joined(separator: " ")
      guard thing == "pointers" || Self.libraries.contains(thing) else { continue }
      allowed[thing] = Set(cells[1].filter { $0.first?.isLetter ?? false })
    }
    uses = sources.map { source in
      let words = SwiftWords(source.text).words.map(\.text)
      let hasPointers = words.contains(where: Self.isUnsafe)
      return (source.path, Self.libraries.intersection(words).union(hasPointers ? ["pointers"] : []))
    }
  }

  private static func isUnsafe(_ word: String) -> Bool {
    word == "OpaquePointer" || word == "Unmanaged" || word == "unsafeBitCast" || word == "unsafeDowncast"
      || word == "unsafelyUnwrapped" || word.hasPrefix("Unsafe") && word.hasSuffix("Pointer")
  }

  /// Files that name what they may not, and lines of the table that are not needed.
  var violations: [String] {
    var found: [String] = []
    var needed: [String: Set<String>] = [:]
    for (path, things) in uses {
      for thing in things.sorted() {
        let folder = path.split(separator: "/").first.map(String.init) ?? ""
        guard let entry = [path, folder].first(where: { allowed[thing]?.contains($0) ?? false }) else {
          found.append("\(path) names \(thing), and is not among the files that may")
          continue
        }
        needed[thing, default: []].insert(entry)
      }
    }
    for (thing, entries) in allowed.sorted(by: { $0.key < $1.key }) {
      for entry in entries.subtracting(needed[thing] ?? []).sorted() {
        found.append("the table lets \(entry) name \(thing), and it does not")
      }
    }
    return found
  }
}
