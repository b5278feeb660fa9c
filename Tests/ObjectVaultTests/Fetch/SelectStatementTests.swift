// A query as a value: the order of its parts and of their values in the text. The golden files of
// PredicateSQLTests cover the SQL of predicates.

import CipherSQLite
import ObjectVault
import Testing

@Suite(.tags(.pure)) struct SelectStatements {
  static let owner = SQLName("Ow\"ner")

  private func values(_ sql: SQL) -> [SQLValue] { sql.values.map { $0.sqlValue(dates: .secondsSince1970) } }

  @Test func `a statement has its parts in their places, with their values in order`() {
    var query = SelectStatement("t0.\"city\", count(*) > \(1)", from: .table(Self.owner, alias: 0))
    query.joins = [
      .init(kind: .inner, table: SQLName("A"), alias: 1, condition: "t1.\"id\" = t0.\"a_id\""),
      .init(kind: .left, table: SQLName("B"), alias: 2, condition: "t2.\"id\" = \(2)"),
      .init(kind: .cross, table: SQLName("C"), alias: 3, condition: "1"),
    ]
    query.condition = "t0.\"age\" > \(3)"
    query.having = "count(*) > \(4)"
    // HAVING requires groups.
    #expect(!query.sql.text.contains("HAVING"))
    query.grouping = ["t0.\"city\"", "t0.\"age\" / \(5)"]
    query.order = [
      .init(expression: "t0.\"city\"", isDescending: true), .init(expression: "\(6)", isDescending: false),
    ]
    query.window = .limitAndOffset
    #expect(
      query.sql.text == """
        SELECT t0."city", count(*) > ? FROM "Ow""ner" t0 JOIN "A" t1 ON t1."id" = t0."a_id" \
        LEFT JOIN "B" t2 ON t2."id" = ? CROSS JOIN "C" t3 ON 1 WHERE t0."age" > ? \
        GROUP BY t0."city", t0."age" / ? HAVING count(*) > ? ORDER BY t0."city" DESC, ? LIMIT ? OFFSET ?
        """)
    #expect(values(query.sql) == [1, 2, 3, 5, 4, 6])
    let counted = SelectStatement.count(of: query).sql
    #expect(
      counted.text == "SELECT count(*) FROM (\(query.sql.text)) t0" && values(counted) == values(query.sql))
  }
}
