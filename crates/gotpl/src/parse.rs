//! Builds trees from tokens. Messages, and the line each is blamed on, are those of Go's parser.

mod fault;

use std::sync::Arc;

use crate::ast::{
    Action, Branch, BranchKind, Chain, Command, Expr, List, Literal, Node, Pipe, Template, Text,
    Tree, Variable, is_empty,
};
use crate::error::Error;
use crate::func::Func;
use crate::lex::{Kind, Lexer, Token};
use crate::number::Number;
use gocompat::strconv::{quote, unquote};

/// How deep parentheses and blocks may nest. Go allows 10,000 parentheses; no template that a
/// person wrote comes near.
const MAX_NESTING: usize = 1_000;

/// The position of a token that was never read.
const NOWHERE: usize = usize::MAX;

type Parsed<T> = Result<T, Box<Error>>;

/// What a parse needs to know besides the text.
pub(crate) struct Grammar<'g> {
    pub left: &'g str,
    pub right: &'g str,
    /// Whether the source has a name by which its author knows it.
    pub in_file: bool,
    pub function: &'g dyn Fn(&str) -> Option<&'static Func>,
}

/// Parses one source into its trees: the body under `name`, and each definition under its own.
pub(crate) fn parse(name: &str, source: &str, grammar: &Grammar<'_>) -> Parsed<Vec<Tree>> {
    let mut shared = Shared {
        lexer: Lexer::new(source, grammar.left, grammar.right),
        grammar,
        source: source.into(),
        source_name: name.into(),
        trees: Vec::new(),
        nesting: 0,
        open: Vec::new(),
    };
    let mut parser = Parser::new(&mut shared, name);
    let root = parser.body()?;
    parser.add(root)?;
    Ok(shared.trees)
}

/// What all trees of one source have in common.
struct Shared<'s> {
    lexer: Lexer<'s>,
    grammar: &'s Grammar<'s>,
    source: Arc<str>,
    source_name: Arc<str>,
    trees: Vec<Tree>,
    nesting: usize,
    /// What waits for its `end`: the word, and where its action begins.
    open: Vec<(&'static str, usize)>,
}

/// The parser of one tree. A definition inside gets its own, with its own look-ahead, as in Go:
/// error lines depend on it.
struct Parser<'p, 's> {
    shared: &'p mut Shared<'s>,
    name: String,
    ahead: [Token; 3],
    peeked: usize,
    variables: Vec<Box<str>>,
    range_depth: usize,
    /// Where the action being parsed begins.
    action: Option<Token>,
    /// Where the token read last begins.
    at: usize,
}

/// What ends a list of nodes.
enum Ending {
    End,
    Else,
}

impl Ending {
    fn text(&self) -> &'static str {
        match self {
            Ending::End => "{{end}}",
            Ending::Else => "{{else}}",
        }
    }
}

enum Item {
    Node(Node),
    Ending(Ending),
}

impl<'p, 's> Parser<'p, 's> {
    fn new(shared: &'p mut Shared<'s>, name: &str) -> Self {
        let blank = Token {
            kind: Kind::Error,
            start: NOWHERE,
            end: NOWHERE,
        };
        Parser {
            shared,
            name: name.to_string(),
            ahead: [blank; 3],
            peeked: 0,
            variables: vec!["$".into()],
            range_depth: 0,
            action: None,
            at: 0,
        }
    }

    // Tokens.

    fn next(&mut self) -> Token {
        if self.peeked > 0 {
            self.peeked -= 1;
        } else {
            self.ahead[0] = self.shared.lexer.next();
        }
        let token = self.ahead[self.peeked];
        self.at = token.start;
        token
    }

    fn backup(&mut self) {
        self.peeked += 1;
    }

    fn backup_two(&mut self, first: Token) {
        self.ahead[1] = first;
        self.peeked = 2;
    }

    fn backup_three(&mut self, first: Token, second: Token) {
        self.ahead[1] = second;
        self.ahead[2] = first;
        self.peeked = 3;
    }

    fn peek(&mut self) -> Kind {
        if self.peeked == 0 {
            self.peeked = 1;
            self.ahead[0] = self.shared.lexer.next();
        }
        self.ahead[self.peeked - 1].kind
    }

    fn next_non_space(&mut self) -> Token {
        loop {
            let token = self.next();
            if token.kind != Kind::Space {
                return token;
            }
        }
    }

    fn peek_non_space(&mut self) -> Token {
        let token = self.next_non_space();
        self.backup();
        token
    }

    fn text_of(&self, token: &Token) -> &str {
        token.text(&self.shared.source)
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Token> {
        let token = self.next_non_space();
        if token.kind == kind {
            Ok(token)
        } else {
            self.unexpected(&token, context)
        }
    }

    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.shared.nesting >= MAX_NESTING {
            return self.fail("max expression depth exceeded");
        }
        self.shared.nesting += 1;
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || inside(self));
        self.shared.nesting -= 1;
        result
    }

    // Trees.

    /// Keeps the finished tree, unless one of that name is there already and this one is empty.
    fn add(&mut self, root: List) -> Parsed<()> {
        let tree = Tree {
            name: std::mem::take(&mut self.name),
            source_name: self.shared.source_name.clone(),
            source: self.shared.source.clone(),
            in_file: self.shared.grammar.in_file,
            root,
        };
        let Some(index) = self
            .shared
            .trees
            .iter()
            .position(|other| other.name == tree.name)
        else {
            self.shared.trees.push(tree);
            return Ok(());
        };
        if is_empty(&self.shared.trees[index]) {
            self.shared.trees[index] = tree;
            return Ok(());
        }
        if is_empty(&tree) {
            return Ok(());
        }
        let quoted = String::from_utf8_lossy(&quote(tree.name.as_bytes())).into_owned();
        let offset = self
            .shared
            .open
            .last()
            .map_or(self.at, |(_, offset)| *offset);
        self.fail_at(
            offset,
            format!("template: multiple definition of template {quoted}"),
        )
    }

    fn body(&mut self) -> Parsed<List> {
        let mut root = List::new();
        while self.peek() != Kind::Eof {
            if self.peek() == Kind::LeftDelim {
                let delimiter = self.next();
                if self.next_non_space().kind == Kind::Define {
                    self.shared.open.push(("define", delimiter.start));
                    Parser::new(self.shared, "definition").definition()?;
                    self.shared.open.pop();
                    continue;
                }
                self.backup_two(delimiter);
            }
            match self.text_or_action()? {
                Item::Node(node) => root.push(node),
                Item::Ending(ending) => {
                    return self.misplaced(&format!("unexpected {}", ending.text()));
                }
            }
        }
        Ok(root)
    }

    fn definition(&mut self) -> Parsed<()> {
        const CONTEXT: &str = "define clause";
        let token = self.next_non_space();
        self.name = self.template_name(&token, CONTEXT)?;
        self.expect(Kind::RightDelim, CONTEXT)?;
        let root = self.list_to_end(CONTEXT)?;
        self.add(root)
    }

    fn list_to_end(&mut self, context: &str) -> Parsed<List> {
        match self.list()? {
            (list, Ending::End) => Ok(list),
            (_, ending) => self.misplaced(&format!("unexpected {} in {context}", ending.text())),
        }
    }

    fn list(&mut self) -> Parsed<(List, Ending)> {
        self.nested(|parser| {
            let mut list = List::new();
            while parser.peek_non_space().kind != Kind::Eof {
                match parser.text_or_action()? {
                    Item::Node(node) => list.push(node),
                    Item::Ending(ending) => return Ok((list, ending)),
                }
            }
            parser.fail_over(parser.unended(), parser.at, "unexpected EOF")
        })
    }

    fn text_or_action(&mut self) -> Parsed<Item> {
        let token = self.next_non_space();
        match token.kind {
            Kind::Text => {
                let source = self.shared.source.clone();
                Ok(Item::Node(Node::Text(Text {
                    start: token.start,
                    end: token.end,
                    source,
                })))
            }
            Kind::LeftDelim => {
                self.action = Some(token);
                let item = self.action();
                self.action = None;
                item
            }
            _ => self.unexpected(&token, "input"),
        }
    }

    fn action(&mut self) -> Parsed<Item> {
        let token = self.next_non_space();
        let node = match token.kind {
            Kind::Block => self.opened("block", Self::block)?,
            Kind::Break => self.loop_control(token.start, "{{break}}", Node::Break)?,
            Kind::Continue => self.loop_control(token.start, "{{continue}}", Node::Continue)?,
            Kind::Else => {
                if !matches!(self.peek_non_space().kind, Kind::If | Kind::With) {
                    self.expect(Kind::RightDelim, "else")?;
                }
                return Ok(Item::Ending(Ending::Else));
            }
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Item::Ending(Ending::End));
            }
            Kind::If => self.opened("if", |parser| parser.control(BranchKind::If))?,
            Kind::Range => self.opened("range", |parser| parser.control(BranchKind::Range))?,
            Kind::With => self.opened("with", |parser| parser.control(BranchKind::With))?,
            Kind::Template => self.template()?,
            _ => {
                self.backup();
                self.peek();
                let at = self.ahead[self.peeked - 1].start;
                Node::Action(Action {
                    at,
                    pipe: self.pipeline("command", Kind::RightDelim)?,
                })
            }
        };
        Ok(Item::Node(node))
    }

    /// Parses what goes on until an `end`.
    fn opened(
        &mut self,
        word: &'static str,
        inside: impl FnOnce(&mut Self) -> Parsed<Node>,
    ) -> Parsed<Node> {
        self.shared
            .open
            .push((word, self.action.map_or(self.at, |action| action.start)));
        let node = inside(self)?;
        self.shared.open.pop();
        Ok(node)
    }

    fn loop_control(
        &mut self,
        at: usize,
        shown: &str,
        node: impl Fn(usize) -> Node,
    ) -> Parsed<Node> {
        let token = self.next_non_space();
        if token.kind != Kind::RightDelim {
            return self.unexpected(&token, shown);
        }
        if self.range_depth == 0 {
            return self.fail_at(at, format!("{shown} outside {{{{range}}}}"));
        }
        Ok(node(at))
    }

    fn control(&mut self, kind: BranchKind) -> Parsed<Node> {
        let context = match kind {
            BranchKind::If => "if",
            BranchKind::Range => "range",
            BranchKind::With => "with",
        };
        let scope = self.variables.len();
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        self.range_depth += usize::from(kind == BranchKind::Range);
        let body = self.list();
        self.range_depth -= usize::from(kind == BranchKind::Range);
        let (list, ending) = body?;
        let mut otherwise = None;
        if matches!(ending, Ending::Else) {
            let next = self.peek();
            // `else if` and `else with` nest without an `end` of their own: the inner one takes it.
            if (kind == BranchKind::If && next == Kind::If)
                || (kind == BranchKind::With && next == Kind::With)
            {
                self.next();
                otherwise = Some(vec![self.nested(|parser| parser.control(kind))?]);
            } else {
                let (list, ending) = self.list()?;
                if !matches!(ending, Ending::End) {
                    return self.misplaced(&format!("expected end; found {}", ending.text()));
                }
                otherwise = Some(list);
            }
        }
        self.variables.truncate(scope);
        Ok(Node::Branch(Box::new(Branch {
            kind,
            at: pipe.at,
            pipe,
            list,
            otherwise,
        })))
    }

    fn block(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "block clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        let mut inner = Parser::new(self.shared, &name);
        let (root, ending) = inner.list()?;
        if let Ending::Else = ending {
            return self.misplaced(&format!("unexpected {} in {CONTEXT}", ending.text()));
        }
        inner.add(root)?;
        Ok(Node::Template(Box::new(Template {
            at: token.start,
            name,
            pipe: Some(pipe),
        })))
    }

    fn template(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "template clause";
        let token = self.next_non_space();
        let name = self.template_name(&token, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != Kind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelim)?);
        }
        Ok(Node::Template(Box::new(Template {
            at: token.start,
            name,
            pipe,
        })))
    }

    fn template_name(&mut self, token: &Token, context: &str) -> Parsed<String> {
        if !matches!(token.kind, Kind::String | Kind::RawString) {
            return self.unexpected(token, context);
        }
        let bytes = self.unquoted(token)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn unquoted(&self, token: &Token) -> Parsed<Vec<u8>> {
        match unquote(self.text_of(token).as_bytes()) {
            Some(bytes) => Ok(bytes),
            None => self.fail_at(token.start, "invalid syntax"),
        }
    }

    // Pipelines.

    fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let mut pipe = Pipe {
            at: self.peek_non_space().start,
            assign: false,
            declared: Vec::new(),
            commands: Vec::new(),
        };
        self.declarations(&mut pipe, context)?;
        loop {
            let token = self.next_non_space();
            match token.kind {
                kind if kind == end => {
                    self.check_pipeline(&pipe, context)?;
                    return Ok(pipe);
                }
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    pipe.commands.push(command);
                }
                _ => return self.unexpected(&token, context),
            }
        }
    }

    fn declarations(&mut self, pipe: &mut Pipe, context: &str) -> Parsed<()> {
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                return Ok(());
            }
            self.next();
            // A space is a token: `$x foo` is only known not to declare once `foo` is seen, so keep
            // what follows `$x`.
            self.peek();
            let adjacent = self.ahead[self.peeked - 1];
            let next = self.peek_non_space();
            match next.kind {
                Kind::Assign | Kind::Declare => {
                    pipe.assign = next.kind == Kind::Assign;
                    self.next_non_space();
                    self.declare(pipe, &variable);
                    return Ok(());
                }
                Kind::Char if self.text_of(&next) == "," => {
                    self.next_non_space();
                    self.declare(pipe, &variable);
                    if context == "range" && pipe.declared.len() < 2 {
                        if matches!(
                            self.peek_non_space().kind,
                            Kind::Variable | Kind::RightDelim | Kind::RightParen
                        ) {
                            continue;
                        }
                        return self.fail_at(next.start, "range can only initialize variables");
                    }
                    return self.fail_at(next.start, format!("too many declarations in {context}"));
                }
                _ => {
                    if adjacent.kind == Kind::Space {
                        self.backup_three(variable, adjacent);
                    } else {
                        self.backup_two(variable);
                    }
                    return Ok(());
                }
            }
        }
    }

    fn declare(&mut self, pipe: &mut Pipe, token: &Token) {
        let name: Box<str> = self.text_of(token).into();
        pipe.declared.push(Variable {
            at: token.start,
            name: name.clone(),
            fields: Box::default(),
        });
        self.variables.push(name);
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> Parsed<()> {
        if pipe.commands.is_empty() {
            return self.fail_at(pipe.at, format!("missing value for {context}"));
        }
        for (index, command) in pipe.commands.iter().enumerate().skip(1) {
            if let Some(
                Expr::Bool(..) | Expr::Dot(_) | Expr::Nil(_) | Expr::Number(..) | Expr::Text(_),
            ) = command.words.first()
            {
                return self.fail_at(
                    command.at,
                    format!("non executable command in pipeline stage {}", index + 1),
                );
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parsed<Command> {
        let mut command = Command {
            at: self.peek_non_space().start,
            words: Vec::new(),
        };
        loop {
            self.peek_non_space();
            if let Some(word) = self.operand()? {
                command.words.push(word);
            }
            let token = self.next();
            match token.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return self.unexpected(&token, "operand"),
            }
            break;
        }
        if command.words.is_empty() {
            return self.fail_at(command.at, "empty command");
        }
        Ok(command)
    }

    fn operand(&mut self) -> Parsed<Option<Expr>> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        if self.peek() != Kind::Field {
            return Ok(Some(term));
        }
        let at = self.ahead[self.peeked - 1].start;
        let mut fields: Vec<Box<str>> = Vec::new();
        while self.peek() == Kind::Field {
            let token = self.next();
            fields.push(self.text_of(&token)[1..].into());
        }
        Ok(Some(match term {
            Expr::Field(_, first) => Expr::Field(at, first.into_iter().chain(fields).collect()),
            Expr::Variable(variable) => Expr::Variable(Box::new(Variable {
                at,
                name: variable.name,
                fields: fields.into(),
            })),
            Expr::Bool(..) | Expr::Text(_) | Expr::Number(..) | Expr::Nil(_) | Expr::Dot(_) => {
                let quoted =
                    String::from_utf8_lossy(&quote(term.to_string().as_bytes())).into_owned();
                return self.fail_at(at, format!("unexpected . after term {quoted}"));
            }
            inner => Expr::Chain(Box::new(Chain {
                at,
                inner,
                fields: fields.into(),
            })),
        }))
    }

    fn term(&mut self) -> Parsed<Option<Expr>> {
        let token = self.next_non_space();
        let at = token.start;
        Ok(Some(match token.kind {
            Kind::Identifier => {
                let name = self.text_of(&token);
                match (self.shared.grammar.function)(name) {
                    Some(function) => Expr::Function(at, function),
                    None => {
                        let quoted = String::from_utf8_lossy(&quote(name.as_bytes())).into_owned();
                        return self.fail_at(at, format!("function {quoted} not defined"));
                    }
                }
            }
            Kind::Dot => Expr::Dot(at),
            Kind::Nil => Expr::Nil(at),
            Kind::Variable => {
                let name = self.text_of(&token);
                if !self.variables.iter().any(|known| &**known == name) {
                    let quoted = String::from_utf8_lossy(&quote(name.as_bytes())).into_owned();
                    return self.fail_at(at, format!("undefined variable {quoted}"));
                }
                Expr::Variable(Box::new(Variable {
                    at,
                    name: name.into(),
                    fields: Box::default(),
                }))
            }
            Kind::Field => Expr::Field(at, Box::new([self.text_of(&token)[1..].into()])),
            Kind::Bool => Expr::Bool(at, self.text_of(&token) == "true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                let text = self.text_of(&token);
                let number = match token.kind {
                    Kind::CharConstant => Number::parse_char(text),
                    Kind::Complex => Number::parse_complex(text),
                    _ => Number::parse(text),
                };
                match number {
                    Ok(number) => Expr::Number(at, Box::new(number)),
                    Err(message) => return self.fail_at(at, message),
                }
            }
            Kind::LeftParen => {
                let pipe = self
                    .nested(|parser| parser.pipeline("parenthesized pipeline", Kind::RightParen))?;
                Expr::Pipe(Box::new(pipe))
            }
            Kind::String | Kind::RawString => {
                let bytes = self.unquoted(&token)?.into();
                Expr::Text(Box::new(Literal {
                    at,
                    quoted: self.text_of(&token).into(),
                    bytes,
                }))
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        }))
    }
}
