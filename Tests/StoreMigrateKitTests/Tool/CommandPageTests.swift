// The page of the commands: the text after its heading "Each command" is generated from the tool's helps.
// `make golden` writes it.

import Foundation
import ObjectVault
import StoreMigrateKit
import TestSupport
import Testing

@Suite(.tags(.pure, .slow)) struct CommandPageTests {
  private static let url = packageRoot.appendingPathComponent(
    "Sources/StoreMigrateKit/Documentation.docc/commands.md")

  private static func help(_ words: String...) throws -> String {
    try runTool(builtExecutable("store-migrate"), words).output
  }

  @Test func `the page has each command with the options of the tool's own help`() throws {
    let page = try String(contentsOf: Self.url, encoding: .utf8)
    let heading = "\(CommandPage.heading)\n"
    let range = try #require(page.range(of: heading))
    // A handwritten sentence follows the heading.
    let intro = page[range.upperBound...].prefix { $0 != "#" }
    let made = try CommandPage.text(
      StoreMigrate.commandNames.map { ($0, try Self.help("help", $0)) }, overview: Self.help("--help"),
      codes: ExitCode.allCases.map { ($0.rawValue, $0.meaning) })
    let text = page[..<range.upperBound] + intro + made
    if Golden.isWriting {
      return try Data(text.utf8).write(to: Self.url)
    }
    let (kept, new) = (page.split(separator: "\n"), text.split(separator: "\n"))
    let place = zip(kept, new).first { $0 != $1 }
    #expect(
      page == text,
      "run make golden and review the difference: \(place?.0 ?? "the end") is \(place?.1 ?? "the end")")
  }

  @Test(arguments: StoreMigrate.commandNames)
  func `no option of a command is missing on the page`(_ name: String) throws {
    let page = try String(contentsOf: Self.url, encoding: .utf8)
    let section = try #require(page.firstRange(of: "\n### \(name)\n")).upperBound
    let text = page[section...].prefix(
      upTo: page[section...].firstRange(of: "\n### ")?.lowerBound ?? page.endIndex)
    let common = try #require(page.range(of: "### Options of every command"))
    for option in StoreMigrate.optionNames(of: name) {
      let mark = #/[`, ](\-\-[a-z-]+)[` ]/#
      let all = text.matches(of: mark) + page[common.upperBound...].matches(of: mark)
      #expect(all.contains { String($0.1) == option }, "\(name) \(option)")
    }
  }

  @Test func `every lint code is on the page, and every page that a help names exists`() throws {
    let page = try String(contentsOf: Self.url, encoding: .utf8)
    for rule in MigrationFinding.Rule.allCases { #expect(page.contains("- `\(rule.rawValue)`: "), "\(rule)") }
    let titles = try FileManager.default.contentsOfDirectory(
      at: Self.url.deletingLastPathComponent(), includingPropertiesForKeys: nil
    ).filter { $0.pathExtension == "md" }.map {
      String(try String(contentsOf: $0, encoding: .utf8).prefix { $0 != "\n" })
    }
    for name in StoreMigrate.commandNames {
      for match in try Self.help("help", name).matches(of: #/see "([^"]+)"\s+in\s+the documentation/#) {
        let title = match.1.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        #expect(titles.contains("# \(title)"), "\(name) names \(title)")
      }
    }
  }

  @Test func `a help becomes sections, lists, tables and lines that fit`() {
    let help = """
      store-migrate do STORE: Do it --all or nothing

      EXAMPLES
        store-migrate do notes.store                says why
        store-migrate do notes.store --to-the-very-end "of a long text with -- in it" --and-then-some "more"

      Takes 'a' with --to.

      FORMATS
        one   the first,
              in two lines
        two   the second
        Both are written.

      OPTIONS
        -t, --to N    a number|none;
                      or two
            --all     all

      GLOBAL OPTIONS
            --json  JSON
      """
    let text = CommandPage.text([("do", help)], overview: "", codes: [(0, "see up --allow")])
    #expect(
      text.hasPrefix(
        """
        ### do

        `store-migrate do STORE`: Do it `--all` or nothing.

        ```sh
        # says why
        store-migrate do notes.store
        store-migrate do notes.store \\
          --to-the-very-end "of a long text with -- in it" --and-then-some "more"
        ```

        Takes `'a'` with `--to`.

        **Formats.**

        - `one`: the first,
          in two lines
        - `two`: the second

        Both are written.

        | option | meaning |
        | --- | --- |
        | `-t, --to N` | a number\\|none; or two |
        | `--all` | all |

        ### Where a key comes from
        """), "\(text)")
    #expect(text.hasSuffix("| 0 | see up `--allow` |\n"), "\(text)")
  }
}
