package main

import "strings"

// A signature tells the random generator what a function plausibly takes and gives.
type signature struct {
	name   string
	params []byte
	rest   byte
	gives  byte
}

// The catalogue lists every function whose answer depends on its arguments alone, as
// NAME:PARAMS>RESULT. A star repeats the parameter before it. The letters are kinds:
//
//	s string   n number of any type   k small int   f float   b bool   a anything
//	l list     m map                  e regular expression    P printf format
//	V version  C constraint           J, Y, O JSON, YAML and TOML text
//	D duration T time                 L date layout           U URL   H path   K dict key
const catalogue = `
and:aa*>a or:aa*>a not:a>b len:l>n index:lk>a index:mK>a index:sk>n print:aa*>s println:aa*>s printf:Paa*>s
html:s>s js:s>s urlquery:s>s eq:nn>b eq:ss>b eq:aa>b ne:nn>b ne:ss>b lt:nn>b le:nn>b gt:nn>b ge:ss>b lt:ss>b
trim:s>s trimAll:ss>s trimSuffix:ss>s trimPrefix:ss>s upper:s>s lower:s>s title:s>s untitle:s>s repeat:ks>s
substr:kks>s nospace:s>s trunc:ks>s abbrev:ks>s abbrevboth:kks>s initials:s>s wrap:ks>s wrapWith:kss>s
contains:ss>b hasPrefix:ss>b hasSuffix:ss>b quote:a*>s squote:a*>s cat:a*>s indent:ks>s nindent:ks>s
replace:sss>s plural:ssk>s snakecase:s>s kebabcase:s>s camelcase:s>s swapcase:s>s toString:a>s toStrings:l>l
join:sl>s split:ss>m splitn:sks>m splitList:ss>l sortAlpha:l>l sha1sum:s>s sha256sum:s>s sha512sum:s>s
adler32sum:s>s b64enc:s>s b64dec:s>s b32enc:s>s b32dec:s>s hello:>s
int:n>n int64:n>n float64:n>f atoi:s>n toDecimal:s>n int:s>n float64:s>f add:nn*>n add1:n>n sub:nn>n mul:nn*>n
div:nn>n mod:nn>n addf:nn*>f add1f:n>f subf:nn*>f mulf:nn*>f divf:nn*>f max:nn*>n min:nn*>n biggest:nn>n
maxf:nn*>f minf:nn*>f ceil:n>f floor:n>f round:nk>f until:k>l untilStep:kkk>l seq:kk*>s
default:aa>a empty:a>b coalesce:aa*>a all:a*>b any:a*>b compact:l>l mustCompact:l>l ternary:aab>a
toJson:a>s mustToJson:a>s toPrettyJson:a>s mustToPrettyJson:a>s toRawJson:a>s mustToRawJson:a>s
fromJson:J>m fromJsonArray:J>l mustFromJson:J>a deepCopy:a>a mustDeepCopy:m>m typeOf:a>s kindOf:a>s kindIs:sa>b
typeIs:sa>b typeIsLike:sa>b deepEqual:aa>b list:a*>l tuple:a*>l first:l>a last:l>a mustFirst:l>a mustLast:l>a
rest:l>l initial:l>l mustRest:l>l mustInitial:l>l append:la>l push:la>l prepend:la>l mustAppend:la>l mustPush:la>l
mustPrepend:la>l concat:ll*>l reverse:l>l mustReverse:l>l uniq:l>l mustUniq:l>l without:laa*>l mustWithout:la>l
has:al>b mustHas:al>b slice:lk>l slice:lkk>l mustSlice:lk>l chunk:kl>l mustChunk:kl>l
dict:KaKa>m dict:Ka>m dict:>m get:mK>a set:mKs>m set:mKn>m set:mKl>m unset:mK>m hasKey:mK>b pluck:Kmm>l pick:mKK>m omit:mK>m
merge:mm>m mergeOverwrite:mm>m mustMerge:mm>m mustMergeOverwrite:mm>m dig:KKam>a dig:Kam>a
toDate:Ls>T mustToDate:Ls>T date:LT>s dateInZone:LTs>s date_in_zone:LTs>s htmlDate:T>s htmlDateInZone:Ts>s
dateModify:DT>T date_modify:DT>T mustDateModify:DT>T must_date_modify:DT>T unixEpoch:T>s duration:s>a durationRound:D>s
base:H>s dir:H>s clean:H>s ext:H>s isAbs:H>b osBase:H>s osDir:H>s osClean:H>s osExt:H>s osIsAbs:H>b
urlParse:U>m urlJoin:m>s regexMatch:es>b mustRegexMatch:es>b regexFind:es>s mustRegexFind:es>s regexFindAll:esk>l
mustRegexFindAll:esk>l regexReplaceAll:ess>s mustRegexReplaceAll:ess>s regexReplaceAllLiteral:ess>s
mustRegexReplaceAllLiteral:ess>s regexSplit:esk>l mustRegexSplit:esk>l regexQuoteMeta:s>s
semver:V>a semverCompare:CV>b required:sa>a toYaml:a>s mustToYaml:a>s toYamlPretty:a>s fromYaml:Y>m fromYamlArray:Y>l
toToml:m>s mustToToml:m>s fromToml:O>m mustToDuration:D>a durationSeconds:D>f durationMilliseconds:D>n
durationMicroseconds:D>n durationNanoseconds:D>n durationMinutes:D>f durationHours:D>f durationDays:D>f
durationWeeks:D>f durationRoundTo:DD>a durationTruncateTo:DD>a lookup:ssss>m
length:a>n lengthis:kl>b truncatechars:ks>s urlencode:s>s wordcount:s>n divisibleby:nn>b capfirst:s>s pluralize:sn>s
yesno:ssb>s rjust:ks>s ljust:ks>s center:ks>s filesizeformat:n>s apnumber:n>a intcomma:n>s ordinal:n>s striptags:s>s
`

// signatures parses the catalogue.
func signatures() []signature {
	var all []signature
	for _, word := range strings.Fields(catalogue) {
		name, shape, _ := strings.Cut(word, ":")
		params, gives, _ := strings.Cut(shape, ">")
		s := signature{name: name, gives: gives[0]}
		if stem, repeats := strings.CutSuffix(params, "*"); repeats {
			s.rest = stem[len(stem)-1]
			params = stem[:len(stem)-1]
		}
		s.params = []byte(params)
		all = append(all, s)
	}
	return all
}

// samples are literals of the kinds that need a certain form to mean anything.
var samples = map[byte][]string{
	's': {`""`, `"a"`, `"Hello World"`, `"héllo wörld"`, `"東京"`, `" padded "`, `"a,b,c"`, `"x-y_z"`, "`raw \\n`", `"line1\nline2\n"`,
		`"tab\there"`, `"quote\"d"`, `"<b>&</b>"`, `"123"`, `"0x1F"`, `"-4.5"`, `"true"`, `"\xffbad"`, `"😀"`, `"k1"`, `"UPPER lower"`,
		`"2020-02-03"`, `"UTC"`, `"Europe/Berlin"`, `","`, `"-"`, `"l"`, `"string"`, `"map"`},
	'n': {`0`, `1`, `-1`, `42`, `3.5`, `-2.75`, `1e6`, `0x10`, `'a'`, `"7"`, `"3.9"`, `9223372036854775807`, `0.1`, `1e21`, `100`},
	'k': {`0`, `1`, `2`, `3`, `5`, `8`, `-1`, `12`, `4`, `7`},
	'f': {`0.0`, `1.5`, `-2.25`, `1e6`, `0.1`, `123456.789`},
	'b': {`true`, `false`},
	'l': {`(list)`, `(list 1 2 3)`, `(list "b" "a" "c")`, `(list 1 "two" 3.5 nil true)`, `(until 4)`, `(splitList "," "x,y,z")`, `(list (list 1) (dict "k1" 2))`,
		`(keys $.m1 | sortAlpha)`, `(values (dict "k" 1))`, `(list nil nil)`, `(chunk 2 (until 5))`, `(tuple "x" 1.5)`},
	'm': {`(split "," "p,q")`, `(dict "l" (until 2) "s" (splitList "-" "a-b"))`, `(dict)`, `(dict "k1" 1 "k2" "v")`, `(dict "k1" (dict "k2" (list 1 2)))`, `(dict "a" nil "b" false)`},
	'K': {`"k1"`, `"k2"`, `"a"`, `"b"`, `"missing"`, `""`},
	'e': {`"[a-z]+"`, `"(\\w)(\\d*)"`, `"^a|b$"`, `""`, `"l+"`, `"\\s"`, `"("`, `"[^,]+"`, `"(?i)H"`, `"."`, `"x*"`},
	'P': {`"%v"`, `"%s-%s"`, `"%d"`, `"%5d|%-5s"`, `"%q"`, `"%x"`, `"%T"`, `"%05.1f"`, `"%+v %#v"`, `"%%"`, `"%!"`, `"%[2]v %[1]v"`, `"%t"`, `"%c%U"`, `"plain"`, `"%e"`, `"%g %v"`},
	'V': {`"1.2.3"`, `"v1.28.0-rc.1"`, `"2"`, `"bad"`, `"1.2"`, `"0.9.1+b"`},
	'C': {`">=1.2.0"`, `"^1"`, `"~1.2"`, `"1.x || >=2"`, `">1.2-0"`, `"bad"`, `"1.0 - 2.0"`},
	'J': {`"{\"a\":1,\"b\":[1,2.5,\"x\"]}"`, `"[1,{\"k\":null}]"`, `"{bad"`, `"3"`, `""`, `"null"`},
	'Y': {`"a: 1\nb: [x, y]"`, `"- 1\n- two"`, `"a: {k1: yes, k2: 0777}"`, `": bad: ["`, `""`, `"x"`},
	'O': {`"a = 1\n[t]\nk = \"v\""`, `"bad"`, `"l = [1, 2]"`},
	'D': {`"1h30m"`, `"90s"`, `"-5m"`, `"2.5"`, `"x"`, `"24h"`, `"36h15m"`},
	'T': {`(toDate "2006-01-02" "2020-02-29")`, `(toDate "2006-01-02T15:04:05Z" "1999-12-31T23:59:59Z")`},
	'L': {`"2006-01-02"`, `"Jan _2 15:04:05 MST"`, `"Monday 3:04PM"`, `"2006-01-02T15:04:05Z07:00"`, `"06/1/2 .000"`},
	'U': {`"https://user:pw@host:8080/a/b?q=1#f"`, `"/only/path"`, `"http://[::1]/"`, `"://"`, `"mailto:a@b"`},
	'H': {`"/a/b.txt"`, `"a/../b/./c"`, `""`, `"dir/.hidden"`, `"x.tar.gz"`, `"//a//"`},
	'a': {`nil`, `1`, `"s"`, `true`, `2.5`, `(list 1)`, `(dict "a" 1)`},
}
